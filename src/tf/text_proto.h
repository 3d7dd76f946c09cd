#pragma once
#include <string>
#include <string_view>

namespace t2o::tf {

// The serialized message that a text proto stands for. They fail with bad_file, naming `where` and the line.
std::string saved_model_from_text(std::string_view text, const std::string& where);
std::string meta_graph_from_text(std::string_view text, const std::string& where);
std::string graph_def_from_text(std::string_view text, const std::string& where);

}  // namespace t2o::tf
