#include "verify/inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "diagnostics.h"
#include "support/mapped_file.h"
#include "verify/compare.h"
#include "verify/npy.h"

namespace t2o::verify {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 10000;

std::string listed(const std::vector<Port>& ports) {
  std::string text;
  for (const Port& p : ports) text += (text.empty() ? "'" : ", '") + p.name + "'";
  return text;
}

std::size_t find_port(const std::vector<Port>& ports, const std::string& name, const std::string& what) {
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name || ports[i].tensor == name || ports[i].tensor == name + ":0") return i;
  fail(Code::bad_option, what + ": there is no input '" + name + "'",
       "The inputs are " + listed(ports) + ".");
}

Ints parse_dims(std::string_view text, const std::string& option) {
  Ints dims;
  while (!text.empty()) {
    std::int64_t dim = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), dim);
    const bool at_end = end == text.data() + text.size();
    if (error != std::errc() || dim < 0 || (!at_end && *end != ','))
      fail(Code::bad_option, "--input-shape " + option + " is not understood", "Write it as name:1,28,28,3.");
    dims.push_back(dim);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + (at_end ? 0 : 1));
  }
  return dims;
}

std::string describe(const Shape& s) { return s.ranked() ? shape_text(s.dims()) : "of unknown rank"; }

void check_fits(const Port& port, const Tensor& t, const std::string& source) {
  if (port.dtype != DType::undefined && t.dtype() != port.dtype)
    fail(Code::bad_option, source + " holds " + std::string(name(t.dtype())) + ", but input '" + port.name +
                               "' takes " + std::string(name(port.dtype)));
  if (!merge(port.shape, t.shape()))
    fail(Code::bad_option, source + " has shape " + shape_text(t.dims()) + ", but input '" + port.name +
                               "' is " + describe(port.shape));
}

// ---- files

NamedTensor read_one(const std::string& path) {
  const MappedFilePtr file = MappedFile::open(path);
  if (path.ends_with(".npy")) return {fs::path(path).stem().string(), parse_npy(file->bytes(), path)};
  return onnx::parse_tensor(file->bytes(), path);
}

// input_0.pb, input_1.pb ... or output_0.pb ...
std::vector<NamedTensor> read_numbered(const fs::path& folder, const std::string& what) {
  std::vector<NamedTensor> tensors;
  std::error_code error;
  for (std::size_t i = 0; i < kMostFiles; ++i) {
    const fs::path path = folder / (what + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(path, error)) break;
    tensors.push_back(read_one(path.string()));
  }
  return tensors;
}

// By name where the name is known, else the next port that has none yet.
std::vector<TensorPtr> assign(const std::vector<NamedTensor>& tensors, const std::vector<Port>& ports,
                              const std::string& source) {
  std::vector<TensorPtr> assigned(ports.size());
  std::vector<const NamedTensor*> nameless;
  for (const NamedTensor& t : tensors) {
    const auto port = std::ranges::find_if(ports, [&](const Port& p) {
      return !t.name.empty() && (p.name == t.name || p.tensor == t.name || p.tensor == t.name + ":0");
    });
    if (port == ports.end())
      nameless.push_back(&t);
    else
      nth(assigned, port - ports.begin()) = t.tensor;
  }
  for (const NamedTensor* t : nameless) {
    const auto free = std::ranges::find(assigned, nullptr);
    if (free == assigned.end())
      fail(Code::bad_option, source + ": there is no input '" + t->name + "'",
           "The inputs are " + listed(ports) + ".");
    *free = t->tensor;
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (!assigned[i]) fail(Code::bad_option, source + " has no data for input '" + ports[i].name + "'");
    check_fits(ports[i], *assigned[i], source);
  }
  return assigned;
}

Sample read_data_set(const fs::path& folder, const std::vector<Port>& inputs, std::size_t output_count) {
  Sample sample{folder.filename().string(), assign(read_numbered(folder, "input"), inputs, folder.string())};
  const std::vector<NamedTensor> outputs = read_numbered(folder, "output");
  if (!outputs.empty() && outputs.size() != output_count)
    fail(Code::bad_option, folder.string() + " has " + std::to_string(outputs.size()) +
                               " outputs, but the model " + std::to_string(output_count));
  for (const NamedTensor& t : outputs) sample.expected.push_back(t.tensor);
  return sample;
}

// "test_data_set_2" before "test_data_set_10".
bool comes_first(const fs::path& a, const fs::path& b) {
  const auto key = [](const fs::path& path) {
    const std::string text = path.string();
    const std::size_t digits = text.find_last_not_of("0123456789") + 1;
    return std::tuple(text.substr(0, digits), text.size() - digits, text.substr(digits));
  };
  return key(a) < key(b);
}

// A test_data_set_N folder may be without an input: so may its model.
std::vector<fs::path> data_sets(const fs::path& folder) {
  const auto is_set = [](const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path / "input_0.pb", ignored) ||
           (path.filename().string().starts_with("test_data_set_") && fs::is_directory(path, ignored));
  };
  std::error_code error;
  std::vector<fs::path> found;
  const fs::path self = folder.has_filename() ? folder : folder.parent_path();  // "folder/" has none
  for (fs::directory_iterator it(folder, error), end; !error && it != end && found.size() < kMostFiles;
       it.increment(error))
    if (is_set(it->path())) found.push_back(it->path());
  std::ranges::sort(found, comes_first);
  if (is_set(self)) found.insert(found.begin(), self);
  if (found.empty())
    fail(Code::bad_option, folder.string() + " holds no test data",
         "Expected are input_0.pb, or folders that have it.");
  return found;
}

}  // namespace

void apply_input_shapes(std::vector<Port>& ports, const Strings& shapes) {
  for (const std::string& option : shapes) {
    const std::size_t colon = option.rfind(':');
    std::size_t i = 0;
    if (colon != std::string::npos)
      i = find_port(ports, option.substr(0, colon), "--input-shape " + option);
    else if (ports.size() != 1)
      fail(Code::bad_option, "--input-shape " + option + " names no input",
           "The inputs are " + listed(ports) + ".");
    Shape shape(
        parse_dims(std::string_view(option).substr(colon == std::string::npos ? 0 : colon + 1), option));
    if (!merge(ports[i].shape, shape))
      fail(Code::bad_option, "--input-shape " + option + " contradicts the models: '" + ports[i].name +
                                 "' is " + describe(ports[i].shape));
    ports[i].shape = std::move(shape);
  }
}

Ints chosen_dims(const Port& port, const OpenSizes& sizes) {
  if (!port.shape.ranked())
    fail(Code::bad_option, "the rank of input '" + port.name + "' is not known",
         "Give its shape: --input-shape " + port.name + ":1,2,3");
  Ints dims = port.shape.dims();
  const bool image = dims.size() == 4 && is_float(port.dtype);
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (is_known(dims[axis])) continue;
    const bool side = image && (is_known(dims[3]) ? axis == 1 || axis == 2 : is_known(dims[1]) && axis >= 2);
    dims[axis] = axis == 0 ? sizes.batch : side ? sizes.image_side : sizes.other;
  }
  return dims;
}

Ints dims_in_file(const Port& port) {
  Ints dims = chosen_dims(port);
  for (std::size_t axis = 0; axis < dims.size() && port.in_file.size() == dims.size(); ++axis)
    if (!is_known(port.shape.dims()[axis])) dims[axis] = port.in_file[axis];
  return dims;
}

bool has_open_sizes(const std::vector<Port>& inputs) {
  return std::ranges::any_of(inputs, [](const Port& p) {
    return p.shape.ranked() &&
           std::ranges::any_of(p.shape.dims(), [](std::int64_t d) { return !is_known(d); });
  });
}

namespace {

bool is_free(const Port& p) {
  return p.codes.step == 0 && is_int(p.dtype) && bit_width(p.dtype) >= 8 && p.use.is_number;
}

// 0, 1, -1, small numbers, and where no float loses their digits the largest that leave room for a sum.
std::vector<double> edges_of(const Port& p) {
  const bool is_signed = is_signed_int(p.dtype);
  const double largest =
      bit_width(p.dtype) == 64 ? 0x1p+40 + 12345 : std::exp2(bit_width(p.dtype) - (is_signed ? 2 : 1)) + 1;
  std::vector<double> numbers = {0, 1, 2, 9};
  if (is_signed) numbers.push_back(-1);
  if (p.use.stays_integer) {
    numbers.push_back(largest);
    if (is_signed) numbers.push_back(-largest);
    if (bit_width(p.dtype) == 64) numbers.push_back(0x1p+31 + 7);
  }
  return numbers;
}

TensorPtr edge_tensor(const Port& p, const Ints& dims, Random& random) {
  const std::vector<double> edges = edges_of(p);
  std::vector<double> values(static_cast<std::size_t>(element_count(dims)));
  std::size_t next = static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(edges.size()) - 1));
  for (double& v : values) v = edges[next++ % edges.size()];  // each of them, wherever it begins
  return tensor_of(p.dtype, dims, values);
}

// 16 bits are symmetric: they leave out the lowest.
Range codes_of(const Port& p) {
  const double count = std::exp2(bit_width(p.dtype));
  if (!is_signed_int(p.dtype)) return {0, count - 1};
  return {-count / 2 + (bit_width(p.dtype) == 16 ? 1 : 0), count / 2 - 1};
}

// The number of any code.
TensorPtr number_tensor(const Port& p, const Ints& dims, Random& random) {
  const std::int64_t first = p.codes.bits == 16 ? 1 : 0, last = (std::int64_t{1} << p.codes.bits) - 1;
  std::vector<double> numbers(static_cast<std::size_t>(element_count(dims)));
  for (double& x : numbers)
    x = p.codes.lowest + p.codes.step * static_cast<double>(random.integer(first, last));
  return tensor_of(p.dtype, dims, numbers);
}

std::optional<Range> integers_of(const Port& p, std::optional<int> highest) {
  if (!is_int(p.dtype)) return std::nullopt;
  if (p.codes.step != 0) return codes_of(p);
  if (highest) return Range{0, static_cast<double>(*highest)};
  if (p.use.below) return Range{0, static_cast<double>(*p.use.below - 1)};
  if (p.dtype == DType::u8) return Range{0, 255};
  return Range{0, bit_width(p.dtype) < 8 ? 7.0 : 9.0};
}

}  // namespace

bool has_free_integers(const std::vector<Port>& inputs) { return std::ranges::any_of(inputs, is_free); }

Sample random_sample(const std::vector<Port>& inputs, std::uint64_t seed, const Draw& draw) {
  Sample sample{"seed " + std::to_string(seed), {}};
  const auto add = [&](const std::string& what) { sample.label += ", " + what; };
  if (draw.in_file)
    add("sizes in the file");
  else if (draw.sizes != kUsualSizes)
    add(draw.sizes.other > kLargerSizes.other ? "larger sizes" : "other sizes");
  if (draw.edges) add("integers at their edges");
  if (draw.highest_integer) add("integers 0 .. " + std::to_string(*draw.highest_integer));
  for (const Port& port : inputs) {
    Random random(mix(seed, port.name));
    const Ints dims = draw.in_file ? dims_in_file(port) : chosen_dims(port, draw.sizes);
    sample.inputs.push_back(
        is_float(port.dtype) && port.codes.step != 0 ? number_tensor(port, dims, random)
        : draw.edges && is_free(port)
            ? edge_tensor(port, dims, random)
            : random_tensor(port.dtype, dims, random, integers_of(port, draw.highest_integer)));
  }
  return sample;
}

std::vector<Sample> read_samples(const Strings& paths, const std::vector<Port>& inputs,
                                 std::size_t output_count) {
  std::vector<Sample> samples;
  std::vector<NamedTensor> loose;
  for (const std::string& given : paths) {
    const std::size_t equals = given.find('=');
    const std::string path = equals == std::string::npos ? given : given.substr(equals + 1);
    std::error_code error;
    if (fs::is_directory(path, error)) {
      for (const fs::path& folder : data_sets(path))
        samples.push_back(read_data_set(folder, inputs, output_count));
    } else if (path.ends_with(".npz")) {
      samples.push_back({fs::path(path).filename().string(),
                         assign(parse_npz(MappedFile::open(path)->bytes(), path), inputs, path)});
    } else if (path.ends_with(".npy") || path.ends_with(".pb")) {
      NamedTensor tensor = read_one(path);
      if (equals != std::string::npos)
        tensor.name = inputs[find_port(inputs, given.substr(0, equals), "--input-data " + given)].name;
      loose.push_back(std::move(tensor));
    } else {
      fail(Code::bad_option, "--input-data " + given + " is not understood",
           "Give .npz, .npy or .pb files, or a test_data_set folder.");
    }
  }
  if (!loose.empty()) samples.push_back({"files", assign(loose, inputs, "--input-data")});
  return samples;
}

}  // namespace t2o::verify
