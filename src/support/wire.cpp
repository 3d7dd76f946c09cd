#include "support/wire.h"

#include <utility>

namespace t2o {
namespace {

thread_local std::string file_being_read;

}  // namespace

Reading::Reading(std::string file) : outer_(std::exchange(file_being_read, std::move(file))) {}
Reading::~Reading() { file_being_read = std::move(outer_); }

void fail_reading(const std::string& why, const std::string& remedy, SourceLoc at) {
  fail(Code::bad_file, (file_being_read.empty() ? "" : file_being_read + ": ") + why, remedy, at);
}

}  // namespace t2o
