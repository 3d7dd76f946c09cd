#include <algorithm>
#include <limits>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/zero_pad.h"

// A tensor that is padded and then cropped is cropped first, by as much as the padding does not give. A
// convolution takes over the Pad behind that, and often nothing is left to crop.
namespace t2o::rewriters {
namespace {

// What the crop takes off at both ends of the padded axis.
struct Crop {
  Ints begins, ends;
};

std::optional<Crop> read_crop(const ir::Node& n, const Shape& padded) {
  const auto constant = [&](std::size_t i) { return n.input(i) && n.input(i)->constant(); };
  if (n.op() != "Slice" || !constant(1) || !constant(2) || (n.input(3) && !constant(3))) return std::nullopt;
  if (n.input(4) &&
      (!constant(4) || n.input(4)->constant()->to_ints() != repeated(1, n.input(4)->constant()->elements())))
    return std::nullopt;
  const Ints starts = n.input(1)->constant()->to_ints(), stops = n.input(2)->constant()->to_ints();
  const auto rank = static_cast<std::size_t>(padded.rank());
  Crop crop{Ints(rank, 0), Ints(rank, 0)};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t at = n.input(3) ? n.input(3)->constant()->to_ints()[i] : static_cast<std::int64_t>(i);
    const auto axis = static_cast<std::size_t>(at < 0 ? at + padded.rank() : at);
    const Dim size = padded[static_cast<int>(axis)];
    if (!is_known(size)) return std::nullopt;
    const auto place = [size](std::int64_t p) {
      return std::clamp<std::int64_t>(p < 0 ? p + size : p, 0, size);
    };
    crop.begins[axis] = place(starts[i]);
    crop.ends[axis] = size - place(stops[i]);
  }
  return crop;
}

// Takes off of the padding what the crop does; false where nothing of the image would be left.
bool reduce(Crop& crop, Ints& pads, const Shape& image) {
  const std::size_t rank = crop.begins.size();
  for (std::size_t i = 0; i < rank; ++i) {
    if (crop.begins[i] == 0 && crop.ends[i] == 0) continue;
    const std::int64_t front = std::min(crop.begins[i], pads[i]),
                       back = std::min(crop.ends[i], pads[i + rank]);
    crop.begins[i] -= front;
    pads[i] -= front;
    crop.ends[i] -= back;
    pads[i + rank] -= back;
    if (crop.begins[i] + crop.ends[i] >= image[static_cast<int>(i)]) return false;
  }
  return true;
}

bool swap(ir::Graph& g, const onnx::Target& target, ir::Node& slice) {
  const ir::Node* pad = slice.op() == "Slice" ? slice.input(0)->producer() : nullptr;
  if (!pad || !is_zero_pad(*pad) || only_reader(pad->output()) != &slice) return false;
  const Shape &image = pad->input(0)->shape(), &padded = pad->output()->shape();
  if (!image.ranked() || !padded.ranked()) return false;
  Ints pads = pad->input(1)->constant()->to_ints();
  if (pads.size() != 2 * static_cast<std::size_t>(image.rank()) ||
      std::ranges::any_of(pads, [](std::int64_t p) { return p < 0; }))
    return false;
  auto crop = read_crop(slice, padded);
  if (!crop || !reduce(*crop, pads, image)) return false;
  Emitter e(slice, target);
  Ints starts, stops, axes;
  for (std::size_t i = 0; i < crop->begins.size(); ++i) {
    if (crop->begins[i] == 0 && crop->ends[i] == 0) continue;
    axes.push_back(static_cast<std::int64_t>(i));
    starts.push_back(crop->begins[i]);
    stops.push_back(crop->ends[i] == 0 ? std::numeric_limits<std::int64_t>::max() : -crop->ends[i]);
  }
  Value* x = axes.empty() ? pad->input(0) : e.slice(pad->input(0), starts, stops, axes);
  const bool none = std::ranges::all_of(pads, [](std::int64_t p) { return p == 0; });
  if (none && axes.empty()) return take_over(g, slice.output(), x);
  Value* y = none ? x : e.pad(x, e.ints(pads), pad->input(2));
  g.set_type(y, y->dtype(), slice.output()->shape());
  return take_over(g, slice.output(), y);
}

}  // namespace

Rewriter slice_before_pad(const onnx::Target& target) {
  return for_each_node("slice_before_pad", {"Pad"},
                       [target](ir::Graph& g, ir::Node& n) { return swap(g, target, n); });
}

}  // namespace t2o::rewriters
