#pragma once
#include <deque>
#include <string>

#include "support/atomic_file.h"

namespace t2o {

// Files that belong together and appear together: a model and the data that it points to. The first is the one that leads to
// the others. Whatever ends the process, and whoever else writes a set to the same names, the files under these names are
// never of two sets: while several of them are replaced, the first is not there. Signals wait for that moment to pass.
// A failure leaves what was there before.
class FileSet {
 public:
  explicit FileSet(Meter* meter = nullptr) : meter_(meter) {}  // which counts the bytes that are written
  AtomicFile& add(const std::string& path) { return files_.emplace_back(path, meter_); }  // stays where it is
  void commit();  // throws ConversionError (Code::output)

 private:
  void appear_together();
  Meter* meter_;
  std::deque<AtomicFile> files_;
};

}  // namespace t2o
