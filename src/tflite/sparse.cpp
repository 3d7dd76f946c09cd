#include <algorithm>
#include <cstring>

#include "diagnostics.h"
#include "tflite/model.h"

// Tensors that are stored without their zeros. The axes are nested in an order of their own, those of blocks
// innermost. An axis lists all of its places or, in compressed form, those that are not zero.
namespace t2o::tflite {
namespace {

[[noreturn]] void refuse(const char* why) {
  fail(Code::bad_model, std::string("the sparse form of a constant ") + why);
}

Ints indices_of(schema::SparseIndexVector type, const void* vector) {
  Ints result;
  const auto copy = [&](const auto* table) {
    if (!table) refuse("lacks its indices");
    const auto all = items(table->values());
    result.assign(all.begin(), all.end());
  };
  switch (type) {
    case schema::SparseIndexVector::Int32Vector:
      copy(static_cast<const schema::Int32Vector*>(vector));
      break;
    case schema::SparseIndexVector::Uint16Vector:
      copy(static_cast<const schema::Uint16Vector*>(vector));
      break;
    case schema::SparseIndexVector::Uint8Vector:
      copy(static_cast<const schema::Uint8Vector*>(vector));
      break;
    default:
      refuse("lacks its indices");
  }
  return result;
}

struct Level {
  bool is_dense = true;
  std::int64_t size = 0;
  Ints segments = {}, indices = {};
  std::int64_t stride = 0;  // in the dense tensor
};

class Densifier {
 public:
  Densifier(const schema::SparsityParameters& p, const Ints& dims) {
    const auto order = items(p.traversal_order()), blocks = items(p.block_map());
    const std::size_t rank = dims.size(), n = count(p.dim_metadata());
    if (n != order.size() || n != rank + blocks.size() || n > 16) refuse("has the wrong number of axes");
    for (unsigned i = 0; i < n; ++i) levels_.push_back(read(*p.dim_metadata()->Get(i)));
    Ints block_sizes(rank, 1);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const Level& l = levels_[rank + i];
      if (blocks[i] < 0 || static_cast<std::size_t>(blocks[i]) >= rank || !l.is_dense || l.size < 1 ||
          block_sizes[static_cast<std::size_t>(blocks[i])] != 1)
        refuse("has blocks of an unknown kind");
      block_sizes[static_cast<std::size_t>(blocks[i])] = l.size;
    }
    Ints strides(rank, 1);
    for (std::size_t a = rank; a-- > 1;) strides[a - 1] = strides[a] * dims[a];
    std::vector<bool> seen(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto axis = static_cast<std::size_t>(order[i]);
      if (order[i] < 0 || axis >= n || seen[axis] || (i < rank) != (axis < rank))
        refuse("has an order of axes that is none");
      seen[axis] = true;
      const std::size_t dense = axis < rank ? axis : static_cast<std::size_t>(blocks[axis - rank]);
      Level& l = levels_[i];
      l.stride = strides[dense] * (axis < rank ? block_sizes[dense] : 1);
      if (axis >= rank) continue;
      const std::int64_t places = dims[axis] / block_sizes[axis];
      if (dims[axis] % block_sizes[axis] != 0 || (l.is_dense && l.size != places))
        refuse("does not fit the tensor's sizes");
      l.size = places;
    }
    elements_ = element_count(dims);
  }

  void fill(Bytes values, std::span<std::byte> out, std::size_t width) const {
    std::fill(out.begin(), out.end(), std::byte{0});
    Run run{values, out, width};
    if (elements_ != 0) step(run, 0, 0, 0);
  }

 private:
  struct Run {
    Bytes values;
    std::span<std::byte> out;
    std::size_t width;
  };

  static Level read(const schema::DimensionMetadata& m) {
    if (m.format() == schema::DimensionType::DENSE) return {true, m.dense_size()};
    Level l{false, 0};
    l.segments = indices_of(m.array_segments_type(), m.array_segments());
    l.indices = indices_of(m.array_indices_type(), m.array_indices());
    if (!std::ranges::is_sorted(l.segments)) refuse("has segments that do not ascend");
    return l;
  }

  void step(Run& run, std::size_t depth, std::int64_t from, std::int64_t at) const {
    if (depth == levels_.size()) {
      const auto source = static_cast<std::size_t>(from) * run.width;
      if (from < 0 || source + run.width > run.values.size() || at < 0 || at >= elements_)
        refuse("has indices that are out of range");
      std::memcpy(run.out.data() + static_cast<std::size_t>(at) * run.width, run.values.data() + source,
                  run.width);
      return;
    }
    const Level& l = levels_[depth];
    if (l.is_dense) {
      for (std::int64_t i = 0; i < l.size; ++i) step(run, depth + 1, from * l.size + i, at + i * l.stride);
      return;
    }
    const auto segment = static_cast<std::size_t>(from);
    if (from < 0 || segment + 1 >= l.segments.size()) refuse("has segments that are out of range");
    const std::int64_t first = l.segments[segment], last = l.segments[segment + 1];
    if (first < 0 || last > static_cast<std::int64_t>(l.indices.size()))
      refuse("has segments that are out of range");
    for (std::int64_t i = first; i < last; ++i) {
      const std::int64_t place = l.indices[static_cast<std::size_t>(i)];
      if (place < 0 || place >= l.size) refuse("has indices that are out of range");
      step(run, depth + 1, i, at + place * l.stride);
    }
  }

  std::vector<Level> levels_;
  std::int64_t elements_ = 0;
};

}  // namespace

StoragePtr densified(const schema::SparsityParameters& p, const Ints& dims, DType type, StoragePtr values) {
  const std::size_t width = bit_width(type) / 8;
  constexpr std::size_t kMostZeros =
      1 << 16;  // for each byte that is stored: a small file must not fill the memory
  if (byte_size(type, element_count(dims)) / kMostZeros > values->size()) refuse("has too few elements");
  if (width == 0) refuse("has elements of less than a byte");
  const auto densifier = std::make_shared<const Densifier>(p, dims);
  return computed_storage(byte_size(type, element_count(dims)), [=](std::span<std::byte> out) {
    densifier->fill(values->bytes(), out, width);
    values->release();
  });
}

}  // namespace t2o::tflite
