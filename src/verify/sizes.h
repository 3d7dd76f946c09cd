#pragma once
#include <string>
#include <vector>

#include "verify/runs.h"

namespace t2o::verify {

// What the sizes of the random inputs leave unseen.

// The sizes of these draws, in words: "x f32[3, 10] and x f32[3, 96]". Draws with integers alone: "integers at their edges".
std::string tried(const std::vector<Port>& inputs, const std::vector<Draw>& draws);

// Samples of larger sizes, for outputs that were empty with the usual ones. Some sizes are too large for some models.
std::vector<Planned> larger_samples(const std::vector<Port>& inputs, std::uint64_t seed);

// Outputs that were compared and that had no elements in any sample.
std::vector<std::size_t> empty_outputs(const std::vector<ComparedSample>& samples, std::size_t outputs);

// The export states sizes that the source leaves open: the note that the source runs with another one too. Empty: it does not,
// or no size is stated. The source's ports have the sizes that the user gives.
std::string note_of_fixed_sizes(const Models& models, const std::vector<Port>& source);

}  // namespace t2o::verify
