#include "formats/formats.h"

#include <algorithm>

#include "diagnostics.h"
#include "formats/operators.h"
#include "tf/format.h"
#include "tflite/format.h"
#include "verify/tf/session_reference.h"
#include "verify/tflite/lite_reference.h"

namespace t2o {
// A new format is a row above TensorFlow, which takes all that is left and says what is wrong with it.
// docs/adding-a-format.md
std::span<const ModelFormat> formats() {
  static const ModelFormat table[] = {
      {"tflite", tflite::reads, tflite::file_of, tflite::open, tflite::open_bytes, verify::lite_reference,
       verify::tf_intermediates},
      {"tensorflow", tf::reads, tf::file_of, tf::open, tf::open_bytes, verify::tf_reference,
       verify::tf_intermediates},
  };
  return table;
}

std::vector<FormatOp> lite_operators() { return tflite::operators(); }

const ModelFormat& format_of(const tf2onnx::Options& o) {
  const auto all = formats();
  const auto found = std::ranges::find_if(all, [&](const ModelFormat& f) { return f.reads(o); });
  return found == all.end() ? all.back() : *found;  // which says what is wrong with the file
}

}  // namespace t2o
