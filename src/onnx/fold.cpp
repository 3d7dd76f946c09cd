#include "onnx/fold.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>

#include "ir/graph.h"
#include "onnx/fold_parts.h"
#include "onnx/permute.h"

namespace t2o::onnx {
namespace {

constexpr std::size_t kKept = 4096;  // bytes; what is bigger is computed when it is written
constexpr std::size_t kInPieces = std::size_t{32} << 20;

// Its rows can be made one by one: of a tensor that is too big to be in memory as a whole, twice, or for one
// who changes them.
class PermutedStorage final : public MadeStorage {
 public:
  PermutedStorage(TensorPtr in, Permutation permutation)
      : MadeStorage(in->byte_size()), in_(std::move(in)), permutation_(std::move(permutation)) {}

  void release() override {
    MadeStorage::release();
    in_->storage()->release();
  }

  std::string identity() const override {
    return "permuted " + permutation_.text() + " " + in_->storage()->identity();
  }

  PartReader parts() override {
    constexpr std::size_t kFewestRows = 64;  // for reading their elements at the memory's pace
    PartReader parts;
    parts.granule = row();
    parts.piece = std::max(parts.piece / row(), kFewestRows) * row();
    parts.read = [this, b = in_->bytes()](std::size_t at, std::span<std::byte> out) {
      const auto first = static_cast<std::int64_t>(at / row());
      permutation_.copy(b.data(), out.data(), first, first + static_cast<std::int64_t>(out.size() / row()));
    };
    parts.computes = true;
    if (in_->dtype() == DType::f32 && permutation_.can_scale())
      parts.with_factors = [this, b = in_->bytes()](const std::vector<double>& factors) {
        std::vector<float> by_row(static_cast<std::size_t>(permutation_.rows()));
        for (std::size_t i = 0; i < by_row.size(); ++i)
          by_row[i] = static_cast<float>(factors[i % factors.size()]);
        return [this, b, by_row = std::move(by_row)](std::size_t at, std::span<std::byte> out) {
          const auto first = static_cast<std::int64_t>(at / row());
          permutation_.copy_scaled(b.data(), out.data(), first,
                                   first + static_cast<std::int64_t>(out.size() / row()), by_row.data());
        };
      };
    return parts;
  }

  void stream(const Sink& sink) override {
    const std::int64_t step = std::max<std::int64_t>(1, static_cast<std::int64_t>(kInPieces / row()));
    std::vector<std::byte> piece;
    for (std::int64_t first = 0; first < permutation_.rows(); first += step) {
      const std::int64_t last = std::min(first + step, permutation_.rows());
      piece.resize(static_cast<std::size_t>(last - first) * row());
      permutation_.copy(in_->bytes().data(), piece.data(), first, last);
      sink(piece);
      in_->storage()->trim();
    }
    in_->storage()->release();
  }

 private:
  void make(std::span<std::byte> out) override {
    permutation_.copy(in_->bytes().data(), out.data());
    in_->storage()->release();
  }

  std::size_t row() const { return size() / static_cast<std::size_t>(permutation_.rows()); }

  const TensorPtr in_;
  const Permutation permutation_;
};

bool is_permutation_of(const Ints& perm, int rank) {
  std::vector<bool> seen(static_cast<std::size_t>(rank), false);
  for (const std::int64_t p : perm) {
    if (p < 0 || p >= rank || nth(seen, p)) return false;
    nth(seen, p) = true;
  }
  return perm.size() == seen.size();
}

TensorPtr transpose(const TensorPtr& t, const Ints& perm) {
  if (!is_permutation_of(perm, t->rank())) return nullptr;
  Ints dims(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) dims[i] = nth(t->dims(), perm[i]);
  if (t->elements() <= 1) return t->with_dims(dims);
  // What was converted to a wider type is converted behind the Transpose.
  if (const TensorPtr narrow = before_conversion(t); narrow && narrow->byte_size() <= t->byte_size())
    return converted(transposed(narrow, perm), t->dtype());
  const std::size_t width = bit_width(t->dtype());
  if (width != 8 && width != 16 && width != 32 && width != 64 && width != 128) return nullptr;
  const Permutation permutation(width / 8, t->dims(), perm);
  if (t->byte_size() > kKept)
    return std::make_shared<Tensor>(t->dtype(), dims, std::make_shared<PermutedStorage>(t, permutation));
  std::vector<std::byte> bytes(t->byte_size());
  permutation.copy(t->bytes().data(), bytes.data());
  return std::make_shared<Tensor>(t->dtype(), dims, heap_storage(std::move(bytes)));
}

// What was transposed alike before and still is there: weights that two layers share stay one tensor, which
// common_constants sees. A computed storage holds what it is computed from, so that nothing else can be at
// that address.
class Transposed {
 public:
  using Key = std::tuple<const Storage*, DType, Ints, Ints>;

  TensorPtr find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto it = known_.find(key);
    return it == known_.end() ? nullptr : it->second.lock();
  }
  void keep(const Key& key, const TensorPtr& t) {
    const std::lock_guard lock(mutex_);
    if (known_.size() >= most_) {
      std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
      most_ = std::max<std::size_t>(64, 2 * known_.size());
    }
    known_[key] = t;
  }

 private:
  std::mutex mutex_;
  std::map<Key, std::weak_ptr<TensorPtr::element_type>> known_;
  std::size_t most_ = 64;
};

}  // namespace

TensorPtr transposed(const TensorPtr& t, const Ints& perm) {
  if (t->byte_size() <= kKept) return transpose(t, perm);
  static Transposed known;
  const Transposed::Key key{t->storage().get(), t->dtype(), t->dims(), perm};
  if (TensorPtr same = known.find(key)) return same;
  TensorPtr made = transpose(t, perm);
  if (made && made->storage() != t->storage()) known.keep(key, made);
  return made;
}
std::optional<std::vector<TensorPtr>> fold(const std::string& op, const std::vector<TensorPtr>& in,
                                           const Attrs& attrs, int opset) {
  const auto one = [](TensorPtr t) -> std::optional<std::vector<TensorPtr>> {
    if (!t) return std::nullopt;
    return std::vector<TensorPtr>{std::move(t)};
  };
  if (in.empty() || !in[0]) return std::nullopt;
  const Tensor& x = *in[0];
  if (op == "Transpose") {
    Ints reversed = repeated(0, x.rank());
    for (std::size_t i = 0; i < reversed.size(); ++i)
      reversed[i] = x.rank() - 1 - static_cast<std::int64_t>(i);
    const Ints* perm = folding::ints_attr(attrs, "perm");
    return one(transposed(in[0], perm ? *perm : reversed));
  }
  if (op == "Cast")
    for (const ir::NamedAttr& a : attrs)
      if (const auto* to = std::get_if<DType>(&a.value); to && a.name == "to")
        return one(converted(in[0], *to));
  if (op == "Identity") return one(in[0]);
  if (op == "Reshape") return one(folding::reshape(in, attrs));
  if (op == "Squeeze") return one(folding::squeeze(in, attrs));
  if (op == "Unsqueeze") return one(folding::unsqueeze(in, attrs));
  if (op == "Shape" && attrs.empty()) return one(Tensor::of<std::int64_t>({x.rank()}, x.dims()));
  if (op == "Concat") return one(folding::concat(in, attrs));
  if (op == "Slice") return one(folding::slice(in, attrs));
  if (op == "Split") return folding::split(in, attrs);
  if (op == "Gather") return one(folding::gather(in, attrs));
  if (op == "Unique") return folding::unique(x, attrs);
  if (op == "NonZero") return one(folding::non_zero(x));
  if (op == "ScatterElements") return one(folding::scatter_elements(in, attrs));
  if (op == "Einsum") return one(folding::einsum(in, attrs));
  if (op == "Trilu") return one(folding::trilu(in, attrs));
  if (op == "CumSum") return one(folding::cum_sum(in, attrs));
  if (op == "Softmax") return one(opset < 13 ? nullptr : folding::softmax(x, attrs));  // over all axes behind
  if (op == "Pad") return one(folding::pad(in, attrs));
  if (op == "Expand") return one(folding::expand(in));
  if (op == "Tile") return one(folding::tile(in));
  if (op == "Where") return one(folding::where(in));
  if (op == "Clip") return one(folding::clip(in));
  if (op == "Range") return one(folding::range(in));
  if (contains({"Max", "Min", "Sum"}, op)) return one(folding::variadic(op, in));
  if (op.starts_with("Reduce")) return one(folding::reduce(op, in, attrs));
  if (op == "MatMul" && in.size() == 2 && in[1]) return one(folding::matmul(x, *in[1]));
  if (in.size() == 2 && in[1]) return one(folding::binary(op, x, *in[1], attrs));
  if (in.size() == 1) return one(folding::unary(op, x));
  return std::nullopt;
}

}  // namespace t2o::onnx
