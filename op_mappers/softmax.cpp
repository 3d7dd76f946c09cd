#include "op_mappers/all.h"

namespace t2o::op_mappers {
namespace {

Values map_softmax(MapperContext& c) { return {c.softmax(c.in(0), -1)}; }
Values map_log_softmax(MapperContext& c) { return {c.softmax(c.in(0), -1, true)}; }

}  // namespace

void register_softmax(OpRegistry& r) {
  r.op("Softmax").by(map_softmax);
  r.op("LogSoftmax").by(map_log_softmax);
}

}  // namespace t2o::op_mappers
