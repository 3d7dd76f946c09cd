#pragma once
#include <string>
#include <vector>

#include "diagnostics.h"

namespace t2o {

// A model of an earlier conversion may read its weights from a .data file that this conversion replaces. `output` is what the user
// named: models of the same name are looked at, "OUT.onnx", "OUT.SIGNATURE.onnx" or those that fit "name_{signature}.onnx".
class StaleModels {
 public:
  StaleModels(std::string output, std::string data_path);  // before the data file is written
  Diagnostics warnings(const std::vector<std::string>& written) const;  // after it; `written` are the models that belong to it

 private:
  std::string output_, data_path_;
  bool replaces_;
};

}  // namespace t2o
