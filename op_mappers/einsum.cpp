#include <algorithm>
#include <cctype>

#include "op_mappers/all.h"
#include "op_mappers/einsum.h"
#include "op_mappers/numbers.h"
#include "op_mappers/wide_integers.h"

namespace t2o::op_mappers {
namespace {

// A label is a letter, or kEllipsis + i for the broadcast axis i, counted from the last one.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 1000;
bool broadcasts(Label l) { return l >= kEllipsis; }
bool has(const Labels& labels, Label l) { return contains(labels, l); }
std::int64_t position(const Labels& labels, Label l) { return std::ranges::find(labels, l) - labels.begin(); }

struct Term {
  std::string text;
  std::size_t letters;
  bool ellipsis;
};

struct Equation {
  std::vector<Term> inputs;
  Term output;
};

Term parse_term(const Emitter& e, std::string text) {
  Term t{std::move(text), 0, false};
  for (std::size_t i = 0; i < t.text.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(t.text[i]))) {
      ++t.letters;
    } else if (!t.ellipsis && t.text.compare(i, 3, "...") == 0) {
      t.ellipsis = true;
      i += 2;
    } else {
      e.fail(Code::bad_model, "the equation has an unexpected '" + t.text.substr(i, 1) + "'");
    }
  }
  return t;
}

Equation parse_equation(MapperContext& c) {
  const auto text = c.attr<std::string>("equation");
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos) c.fail(Code::bad_model, "the equation '" + text + "' has no '->'");
  Equation eq{{}, parse_term(c, text.substr(arrow + 2))};
  for (std::size_t begin = 0, end = 0; begin <= arrow; begin = end + 1) {
    end = std::min(text.find(',', begin), arrow);
    eq.inputs.push_back(parse_term(c, text.substr(begin, end - begin)));
  }
  if (eq.inputs.size() != c.input_count())
    c.fail(Code::bad_model, "the equation '" + text + "' does not have one term for each input");
  return eq;
}

Labels labels_of(const Term& t, std::size_t broadcast_axes) {
  Labels r;
  for (std::size_t i = 0; i < t.text.size(); ++i) {
    if (t.text[i] != '.') {
      r.push_back(t.text[i]);
      continue;
    }
    for (std::size_t axis = broadcast_axes; axis > 0; --axis)
      r.push_back(kEllipsis + static_cast<Label>(axis) - 1);
    i += 2;
  }
  return r;
}

struct Operand {
  Value* value;
  Labels labels;
};

std::size_t broadcast_axes(MapperContext& c, const Term& t, std::size_t input) {
  if (!t.ellipsis) return 0;
  const auto rank = static_cast<std::size_t>(c.rank(input));
  if (rank < t.letters)
    c.fail(Code::bad_model, "the equation has more labels than input " + std::to_string(input) + " has axes");
  return rank - t.letters;
}

// True where both axes have the same index; broadcasts over a tensor of this rank.
Value* diagonal_mask(Emitter& e, Value* size, std::int64_t first, std::int64_t second, std::size_t rank) {
  Value* index = iota(e, size);
  Ints rows(rank, 1), columns(rank, 1);
  nth(rows, first) = -1;
  nth(columns, second) = -1;
  Value* row = e.reshape(index, rows);
  Value* column = e.reshape(index, columns);
  return e.equal(row, column);
}

Value* summed(Emitter& e, Value* x, const Ints& axes) {
  return wrapping_sum(e, x, [&](Value* numbers) { return e.reduce("ReduceSum", numbers, axes, false); });
}

// A label that an input repeats: keep the diagonal, by summing over the second axis what is left of it.
void take_diagonals(Emitter& e, Operand& x) {
  for (std::size_t i = 0; i < x.labels.size(); ++i)
    for (std::size_t j = x.labels.size() - 1; j > i; --j) {
      if (x.labels[i] != x.labels[j]) continue;
      const auto a = static_cast<std::int64_t>(i), b = static_cast<std::int64_t>(j);
      Value* mask = diagonal_mask(e, e.dim(x.value, static_cast<int>(i)), a, b, x.labels.size());
      x.value = summed(e, e.where(mask, x.value, e.scalar_like(x.value, 0)), {b});
      x.labels.erase(x.labels.begin() + b);
    }
}

void sum_over(Emitter& e, Operand& x, const Labels& kept) {
  Ints axes;
  Labels rest;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    if (has(kept, x.labels[i])) {
      rest.push_back(x.labels[i]);
    } else {
      axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (axes.empty()) return;
  x.value = summed(e, x.value, axes);
  x.labels = rest;
}

void arrange(Emitter& e, Operand& x, const Labels& order) {
  Ints missing, perm;
  for (const Label l : order)
    if (!has(x.labels, l)) missing.push_back(static_cast<std::int64_t>(missing.size()));
  if (!missing.empty()) {
    Labels with_missing;
    for (const Label l : order)
      if (!has(x.labels, l)) with_missing.push_back(l);
    append(with_missing, x.labels);
    x = {e.unsqueeze(x.value, missing), with_missing};
  }
  for (const Label l : order) perm.push_back(position(x.labels, l));
  if (!std::ranges::is_sorted(perm)) x.value = e.transpose(x.value, perm);
  x.labels = order;
}

Value* product_of_dims(Emitter& e, Value* x, int first, int last) {
  if (first == last) return e.ints({1});
  if (last == first + 1) return e.dims(x, first, last);
  return e.product(e.dims(x, first, last));
}

// [batch..., rows..., columns...] -> [batch..., product of rows, product of columns]
Value* as_matrices(Emitter& e, Value* x, std::size_t batch, std::size_t rows, std::size_t columns) {
  if (rows == 1 && columns == 1) return x;
  const int b = static_cast<int>(batch), r = b + static_cast<int>(rows), end = r + static_cast<int>(columns);
  Value* lead = e.dims(x, 0, b);
  Value* height = product_of_dims(e, x, b, r);
  Value* width = product_of_dims(e, x, r, end);
  return e.reshape_to(x, batch ? e.concat({lead, height, width}, 0) : e.concat({height, width}, 0));
}

Labels joined(std::initializer_list<Labels> parts) {
  Labels r;
  for (const Labels& p : parts) append(r, p);
  return r;
}

// One batched matrix product: [batch, free of a, contracted] x [batch, contracted, free of b].
Operand contract(Emitter& e, Operand a, Operand b, const Labels& output) {
  Labels batch, free_a, free_b, contracted;
  for (const Label l : output) {
    const bool in_a = has(a.labels, l), in_b = has(b.labels, l);
    (broadcasts(l) || (in_a && in_b) ? batch : in_a ? free_a : free_b).push_back(l);
  }
  for (const Label l : a.labels)
    if (!has(output, l)) contracted.push_back(l);
  arrange(e, a, joined({batch, free_a, contracted}));
  arrange(e, b, joined({batch, contracted, free_b}));
  Value* left = as_matrices(e, a.value, batch.size(), free_a.size(), contracted.size());
  Value* right = as_matrices(e, b.value, batch.size(), contracted.size(), free_b.size());
  Value* product = e.matmul(left, right);
  const Labels order = joined({batch, free_a, free_b});
  if (free_a.size() == 1 && free_b.size() == 1) return {product, order};
  const int nb = static_cast<int>(batch.size()), na = static_cast<int>(free_a.size());
  const int nk = static_cast<int>(contracted.size()), nf = static_cast<int>(free_b.size());
  Values dims;
  if (nb > 0) dims.push_back(e.dims(product, 0, nb));
  if (na > 0) dims.push_back(e.dims(a.value, nb, nb + na));
  if (nf > 0) dims.push_back(e.dims(b.value, nb + nk, nb + nk + nf));
  Value* shape = dims.empty() ? e.ints({}) : e.concat(dims, 0);
  return {e.reshape_to(product, shape), order};
}

// A label that the output repeats: the values on the diagonal, zeros beside it.
Value* spread(Emitter& e, Operand x, const Labels& output) {
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (x.labels.size() > i && x.labels[i] == output[i]) continue;
    const auto first = position(x.labels, output[i]), second = static_cast<std::int64_t>(i);
    Value* mask =
        diagonal_mask(e, e.dim(x.value, static_cast<int>(first)), first, second, x.labels.size() + 1);
    Value* wide = e.unsqueeze(x.value, {second});
    x.value = e.where(mask, wide, e.scalar_like(wide, 0));
    x.labels.insert(x.labels.begin() + second, output[i]);
  }
  return x.value;
}

Labels without_repeats(const Labels& labels) {
  Labels r;
  for (const Label l : labels)
    if (!has(r, l)) r.push_back(l);
  return r;
}

void check_labels(MapperContext& c, const std::vector<Operand>& operands, const Labels& output) {
  for (const Label l : output)
    if (std::ranges::none_of(operands, [l](const Operand& x) { return has(x.labels, l); }))
      c.fail(Code::bad_model, "the equation's output has a label that no input has");
  for (const Operand& x : operands)
    for (const Label l : x.labels)
      if (broadcasts(l) && !has(output, l)) c.fail(Code::bad_model, "the equation's output has no ellipsis");
}

Values einsum_by_matmul(MapperContext& c, const Equation& eq) {
  if (eq.inputs.size() > 2) c.fail(Code::unsupported_attr, "an equation over more than two inputs");
  std::vector<Operand> operands;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < eq.inputs.size(); ++i) {
    const std::size_t axes = broadcast_axes(c, eq.inputs[i], i);
    widest = std::max(widest, axes);
    operands.push_back({c.in(i), labels_of(eq.inputs[i], axes)});
  }
  const Labels output = labels_of(eq.output, eq.output.ellipsis ? widest : 0);
  check_labels(c, operands, output);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    take_diagonals(c, operands[i]);
    Labels kept = output;
    if (operands.size() == 2) kept = joined({output, operands[1 - i].labels});
    sum_over(c, operands[i], kept);
  }
  const Labels unique = without_repeats(output);
  Operand y = operands[0];
  if (operands.size() == 2) y = contract(c, operands[0], operands[1], unique);
  arrange(c, y, unique);
  return {spread(c, y, output)};
}

// By the standard no label is repeated in the output, and all ellipses stand for the same number of axes.
bool has_onnx_form(MapperContext& c, const Equation& eq) {
  for (std::size_t i = 0; i < eq.output.text.size(); ++i)
    if (eq.output.text[i] != '.' && eq.output.text.find(eq.output.text[i], i + 1) != std::string::npos)
      return false;
  const auto has_ellipsis = [](const Term& t) { return t.ellipsis; };
  if (std::ranges::count_if(eq.inputs, has_ellipsis) < 2) return true;
  std::optional<std::size_t> axes;
  for (std::size_t i = 0; i < eq.inputs.size(); ++i) {
    if (!eq.inputs[i].ellipsis) continue;
    const std::size_t n = broadcast_axes(c, eq.inputs[i], i);
    if (axes && *axes != n) return false;
    axes = n;
  }
  return true;
}

// Products of matrices without elements are known.
bool is_of_nothing(MapperContext& c) {
  const Values& in = c.inputs();
  return std::ranges::any_of(in, [](const Value* v) {
    const Ints& dims = v->shape().dims();
    return contains(dims, 0);
  });
}

Values map_einsum(MapperContext& c) {
  const Equation eq = parse_equation(c);
  const auto is_ranked = [&](const Value* v) { return v->shape().ranked(); };
  const bool may_be_apart =
      eq.output.text.find('.') == std::string::npos || std::ranges::all_of(c.inputs(), is_ranked);
  const bool sums_integers = is_int(c.in(0)->dtype()) && may_be_apart;  // whose sums wrap around
  if (sums_integers || is_of_nothing(c) || !has_onnx_form(c, eq)) return einsum_by_matmul(c, eq);
  return {c.emit("Einsum", c.inputs(), {{"equation", c.attr<std::string>("equation")}})};
}
Values map_einsum_by_matmul(MapperContext& c) { return einsum_by_matmul(c, parse_equation(c)); }

}  // namespace

Value* product_by_matmul(Emitter& e, Value* a, const std::string& in_a, Value* b, const std::string& in_b,
                         const std::string& out) {
  const auto labels = [](const std::string& letters) { return Labels(letters.begin(), letters.end()); };
  return contract(e, {a, labels(in_a)}, {b, labels(in_b)}, labels(out)).value;
}

void register_einsum(OpRegistry& r) {
  r.op("Einsum", "XlaEinsum").ignores({"N"}).note("one or two inputs").by(map_einsum_by_matmul);
  r.op("Einsum", "XlaEinsum")
      .since(12)
      .ignores({"N"})
      .note("ellipses in several inputs: ranks known")
      .by(map_einsum);
}

}  // namespace t2o::op_mappers
