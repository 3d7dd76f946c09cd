// Folding of Einsum, as tables of angles are made of positions and frequencies.
#include <map>

#include "ir/graph.h"
#include "onnx/fold_parts.h"

namespace t2o::onnx::folding {
namespace {

constexpr std::int64_t kMostProducts = 1 << 20;

struct Equation {
  std::vector<std::string> in;
  std::string out;
};

// One letter for each axis; what is written without ->, or with an ellipsis, is left to the runtime.
std::optional<Equation> parsed(const std::string& text) {
  Equation e;
  std::string term;
  bool behind_arrow = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      term += c;
    } else if (!behind_arrow && (c == ',' || (c == '-' && i + 1 < text.size() && text[i + 1] == '>'))) {
      e.in.push_back(std::move(term));
      term.clear();
      behind_arrow = c == '-';
      if (behind_arrow) ++i;
    } else {
      return std::nullopt;
    }
  }
  e.out = std::move(term);
  return behind_arrow ? std::optional(std::move(e)) : std::nullopt;
}

// How far apart the elements of a tensor are along each letter.
std::map<char, std::int64_t> steps_of(const std::string& letters, const Ints& dims) {
  std::map<char, std::int64_t> steps;
  std::int64_t step = 1;
  for (std::size_t i = letters.size(); i-- > 0; step *= dims[i]) steps[letters[i]] += step;
  return steps;
}

}  // namespace

TensorPtr einsum(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  const std::string* text = string_attr(attrs, "equation");
  const auto e = text ? parsed(*text) : std::nullopt;
  if (!e || e->in.size() != in.size() || in.empty() || in.size() > 4) return nullptr;
  std::map<char, std::int64_t> sizes;
  for (std::size_t k = 0; k < in.size(); ++k) {
    if (!in[k] || in[k]->dtype() != in[0]->dtype() || e->in[k].size() != in[k]->dims().size() ||
        (in[k]->dtype() != DType::f32 && in[k]->dtype() != DType::f64))
      return nullptr;
    for (std::size_t i = 0; i < e->in[k].size(); ++i) {
      const auto [it, is_new] = sizes.try_emplace(e->in[k][i], in[k]->dims()[i]);
      if (!is_new && it->second != in[k]->dims()[i]) return nullptr;  // a size of 1 may be spread
    }
  }
  std::string order = e->out;  // the letters, those of the result first
  for (std::size_t i = 0; i < order.size(); ++i)
    if (!sizes.contains(order[i]) || order.find(order[i], i + 1) != std::string::npos) return nullptr;
  for (const auto& [letter, size] : sizes)
    if (order.find(letter) == std::string::npos) order += letter;
  std::int64_t results = 1, products = 1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (__builtin_mul_overflow(products, sizes[order[i]], &products) || products > kMostProducts)
      return nullptr;
    if (i < e->out.size()) results = products;
  }
  if (products == 0 || results > kMaxElements) return nullptr;
  std::vector<std::vector<double>> factors;
  std::vector<Ints> steps;
  for (std::size_t k = 0; k < in.size(); ++k) {
    factors.push_back(in[k]->to_floats());
    const auto by_letter = steps_of(e->in[k], in[k]->dims());
    Ints row;
    for (const char letter : order) row.push_back(by_letter.contains(letter) ? by_letter.at(letter) : 0);
    steps.push_back(std::move(row));
  }
  std::vector<double> out(static_cast<std::size_t>(results), 0.0);
  const std::int64_t summed = products / results;
  for (std::int64_t n = 0; n < products; ++n) {
    double product = 1;
    for (std::size_t k = 0; k < in.size(); ++k) {
      std::int64_t rest = n, at = 0;
      for (std::size_t i = order.size(); i-- > 0; rest /= sizes[order[i]])
        at += rest % sizes[order[i]] * steps[k][i];
      product *= nth(factors[k], at);
    }
    nth(out, n / summed) += product;
  }
  Ints dims;
  for (const char letter : e->out) dims.push_back(sizes[letter]);
  return converted(Tensor::of<double>(std::move(dims), out), in[0]->dtype());
}

}  // namespace t2o::onnx::folding
