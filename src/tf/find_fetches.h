#pragma once
#include "tf/body.h"
#include "tf/import.h"

namespace t2o::tf {

std::vector<Fetch> find_fetches(
    const Body& graph);  // all that no data edge reads, but for what only serves training and saving
bool is_for_training(const Body& graph);  // it has an optimizer's steps
std::string nearest_name(const Body& graph,
                         std::string_view wanted);  // for "did you mean"; empty when nothing is near

}  // namespace t2o::tf
