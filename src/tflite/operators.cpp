#include "tflite/format.h"
#include "tflite/op.h"

namespace t2o::tflite {

std::vector<FormatOp> operators() {
  std::vector<FormatOp> all;
  for (const B op : schema::EnumValuesBuiltinOperator()) {
    FormatOp o{.number = static_cast<int>(op), .name = std::string(builtin_name(op))};
    if (const Row* row = find_row(op)) {
      o.converts = true;
      if (row->tf) o.becomes = row->tf;
    } else if (const RefusedOp* r = find_refusal(op)) {
      o.reason = r->reason;
    }
    all.push_back(std::move(o));
  }
  return all;
}

}  // namespace t2o::tflite
