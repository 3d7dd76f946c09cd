#include "verify/sizes.h"

#include <algorithm>

namespace t2o::verify {
namespace {

// For an output that is empty with the usual sizes.
constexpr OpenSizes kManySizes = {64, 64, 64}, kManyRows = {2048, 64, 64};

std::string types_text(const ComparedSample& s) {
  std::string text;
  for (const auto& [name, type] : s.inputs) text += (text.empty() ? "" : ", ") + name + " " + type;
  return text;
}

bool is_closed(const Port& source, const Port& both, std::size_t axis) {
  return !is_known(source.shape.dims()[axis]) && is_known(both.shape.dims()[axis]);
}

// The inputs, where what the export alone states is open: each such size, or those of first axes. Empty:
// none.
std::vector<Port> reopened(const std::vector<Port>& source, const std::vector<Port>& both, bool first_axes) {
  std::vector<Port> ports = both;
  bool any = false;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (!source[i].shape.ranked() || source[i].shape.rank() != both[i].shape.rank()) continue;
    Ints dims = both[i].shape.dims();
    for (std::size_t axis = 0; axis < (first_axes ? std::min<std::size_t>(dims.size(), 1) : dims.size());
         ++axis)
      if (is_closed(source[i], both[i], axis)) dims[axis] = kUnknownDim, any = true;
    ports[i].shape = Shape(std::move(dims));
  }
  return any ? ports : std::vector<Port>();
}

bool fits(const Port& port, const Tensor& t) { return merge(port.shape, Shape(t.dims())).has_value(); }

// "[2, -1]": -1 is an open size.
std::string text_of(const Shape& shape) {
  Ints dims = shape.dims();
  for (Dim& d : dims) d = is_known(d) ? d : kUnknownDim;
  return shape_text(dims);
}

// A run of the source with sizes that the export does not take.
std::optional<Run> run_with_other_sizes(const Models& models, const std::vector<Port>& open) {
  for (const OpenSizes& sizes : {kOtherSizes, kUsualSizes, kLargerSizes}) {
    const Models opened{models.reference, models.candidate, open,
                        models.outputs,   models.go_on,     models.runtime};
    const std::vector<Draw> draws = with_smaller_integers({.sizes = sizes}, open);
    const Sample sample = random_sample(open, 0, draws[0]);
    bool all_fit = true;
    for (std::size_t i = 0; i < open.size(); ++i)
      all_fit = all_fit && fits(models.inputs[i], *sample.inputs[i]);
    if (all_fit) continue;
    if (auto run = run_reference(opened, {0, draws, {}, true})) return run;
  }
  return std::nullopt;
}

}  // namespace

std::string tried(const std::vector<Port>& inputs, const std::vector<Draw>& draws) {
  Strings texts;
  for (const Draw& d : draws) {
    if (d.edges || d.in_file) continue;
    std::string text = types_text(of_inputs(random_sample(inputs, 0, d), inputs));
    if (!contains(texts, text)) texts.push_back(std::move(text));
  }
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : " and ") + text;
  return all.empty() ? "integers at their edges" : all;
}

std::vector<Planned> larger_samples(const std::vector<Port>& inputs, std::uint64_t seed) {
  std::vector<Planned> plans;
  for (const OpenSizes& sizes : {kManySizes, kManyRows, kLongSizes})
    if (has_open_sizes(inputs) && is_affordable(inputs, sizes))
      plans.push_back({seed, with_smaller_integers({.sizes = sizes}, inputs), {}, true});
  return plans;
}

std::vector<std::size_t> empty_outputs(const std::vector<ComparedSample>& samples, std::size_t outputs) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < outputs; ++i) {
    bool any = false, all = true;
    for (const ComparedSample& s : samples) {
      if (i >= s.outputs.size()) continue;
      any = true;
      all = all && s.outputs[i].evidence == Evidence::empty;
    }
    if (any && all) found.push_back(i);
  }
  return found;
}

std::string note_of_fixed_sizes(const Models& models, const std::vector<Port>& source) {
  for (const bool first_axes : {false, true}) {
    const std::vector<Port> open = reopened(source, models.inputs, first_axes);
    if (open.empty()) return "";
    const auto run = run_with_other_sizes(models, open);
    if (!run) continue;
    const auto tried_inputs = of_inputs(run->sample, open).inputs;
    std::string other, stated;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (fits(models.inputs[i], *run->sample.inputs[i])) continue;
      const auto& [name, type] = tried_inputs[i];
      other += (other.empty() ? "" : ", ") + name + " " + type;
      stated += (stated.empty() ? "" : ", ") + text_of(models.inputs[i].shape);
    }
    return "the source model also runs with " + other + "; the export takes " + stated + " alone";
  }
  return "";
}

}  // namespace t2o::verify
