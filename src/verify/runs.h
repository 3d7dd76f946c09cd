#pragma once
#include <functional>
#include <optional>

#include "verify/candidate.h"
#include "verify/verify.h"

namespace t2o::verify {

// What the run on ordinary data and the run on special values have in common.

// A sample and how else it may be drawn: a runtime refuses many random values and sizes.
struct Planned {
  std::uint64_t seed = 0;
  std::vector<Draw> draws;  // in the order in which they are tried; empty: the data is given
  Sample given = {};
  bool may_be_left_out = false;
};

bool takes_integers(const std::vector<Port>& inputs);
bool has_sizes_in_file(const std::vector<Port>& inputs);
// Whether no input gets too many elements with these sizes.
bool is_affordable(const std::vector<Port>& inputs, const OpenSizes& sizes);
// The draw, and the same with integers that TensorFlow may take where it refuses larger ones.
std::vector<Draw> with_smaller_integers(Draw draw, const std::vector<Port>& inputs);
// The usual draws, and those for a runtime that refuses them: a graph may run with the file's own sizes
// alone, or have windows that are longer than the usual sizes.
std::vector<Draw> usual_draws(const std::vector<Port>& inputs);

struct Run {
  Sample sample;
  std::vector<TensorPtr> results;
  Draw draw = {};                         // of the sample
  std::optional<ComparedSample> refused;  // the first sample that the runtime refused
};

struct Models {
  Reference& reference;
  Candidate& candidate;
  const std::vector<Port>&inputs, &outputs;
  std::function<void(const std::string&)> go_on;  // with what, for a meter
  Runtime runtime;
};

ComparedSample of_inputs(const Sample& sample, const std::vector<Port>& inputs);

// The first draw that the runtime takes. Of those that it refuses, the first refusal is the one to tell.
std::optional<Run> run_reference(const Models& models, const Planned& plan);

// Widens the tolerance for a model that rounds more than f32 does, and gives the reason. Empty: the tolerance stays as it is.
std::string suit_tolerance(VerifyOptions& o, const Reference& reference);

// A tolerance that the user gives holds for codes as for other integers.
bool in_codes(const VerifyOptions& o, const Port& port);
Comparison compare_output(const VerifyOptions& o, const Port& port, const Tensor& expected, const Tensor& got,
                          const CodeCount* own = nullptr);

// The inputs, each number of a float's last digits changed.
std::vector<TensorPtr> nudged(const std::vector<TensorPtr>& inputs, std::uint64_t seed = 1);

}  // namespace t2o::verify
