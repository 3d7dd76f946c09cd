#include <algorithm>

#include "tests/facts/drawer.h"

namespace t2o::facts_test {

// ---- elements that are moved

void Drawer::move() {
  const Sized x = pick(Kind::any);
  const int rank = x.rank();
  Ints dims = *x.dims;
  const auto axis = rank == 0 ? std::int64_t{0} : below(rank);
  switch (below(8)) {
    case 0: {
      Ints perm = ints_from(0, rank);
      std::ranges::reverse(perm);
      std::ranges::reverse(dims);
      return keep(e_->transpose(x.value, perm), dims);
    }
    case 1: return keep(e_->unsqueeze(x.value, {0}), [&] { dims.insert(dims.begin(), 1); return dims; }());
    case 2:
      if (x.count() == 0) return;
      return keep(e_->reshape(x.value, {-1}), Ints{x.count()});
    case 3:
      dims.insert(dims.begin(), 2);
      return keep(e_->expand(x.value, e_->concat({e_->ints({2}), e_->shape_of(x.value)}, 0)), dims);
    case 4: {
      if (rank == 0) return;
      for (std::int64_t& d : dims) d *= 2;
      return keep(e_->tile(x.value, e_->ints(repeated(2, rank))), dims);
    }
    case 5:
      if (rank == 0 || dims[static_cast<std::size_t>(axis)] != 1) return;
      dims.erase(dims.begin() + axis);
      return keep(e_->squeeze(x.value, {axis}), dims);
    case 6:
      if (rank != 2 && is_float(x.value->dtype())) return;
      return rank == 2 ? emit("Trilu", {x}, {{"upper", below(2)}}, dims) : emit("Identity", {x}, {}, dims);
    default: return emit("Flatten", {x}, {}, Ints{rank == 0 ? 1 : dims[0], rank == 0 ? 1 : dims[0] == 0 ? element_count(Ints(dims.begin() + 1, dims.end())) : x.count() / dims[0]});
  }
}

void Drawer::join() {
  const Sized x = pick(Kind::any);
  if (x.rank() == 0) return;
  const std::int64_t axis = below(x.rank());
  Ints dims = *x.dims;
  if (chance(0.4)) {
    const DType t = x.value->dtype();
    if (t == DType::boolean) return;
    Ints pads = repeated(0, 2 * x.rank());
    nth(pads, axis) = 1;
    nth(dims, axis) += 1;
    const char* mode = chance(0.6) || nth(*x.dims, axis) == 0 ? "constant" : "edge";
    Value* value = std::string_view(mode) == "constant" ? (chance(0.5) ? constant(t, {}).value : e_->scalar(t, 0)) : nullptr;
    return keep(e_->pad(x.value, e_->ints(pads), value, mode), dims);
  }
  Sized y = like(x);
  if (*y.dims != *x.dims) y = constant(x.value->dtype(), *x.dims);
  nth(dims, axis) *= 2;
  keep(e_->concat({x.value, y.value}, axis), dims);
}

void Drawer::cut() {
  const Sized x = pick(Kind::any);
  if (x.rank() == 0) return;
  const std::int64_t axis = below(x.rank());
  Ints dims = *x.dims;
  std::int64_t& size = nth(dims, axis);
  if (chance(0.3) && size > 1) {
    Ints rest = dims;
    nth(rest, axis) -= 1;
    const Ints sizes = {1, size - 1};
    const Values parts = e_->split(x.value, sizes, axis);
    size = 1;
    keep(parts[0], dims);
    return keep(parts[1], rest);
  }
  drawn_.may_shrink = true;
  size = std::max<std::int64_t>(size - 1, 0);
  keep(e_->slice(x.value, Ints{1}, Ints{1000}, Ints{axis}), dims);
}

// ---- sizes, and what data decide

void Drawer::sizes() {
  const Sized x = one_of(values_);
  const DType t = one_of(std::vector<DType>{DType::i64, DType::i32, DType::f32});
  Sized y{e_->shape_of(x.value), std::nullopt};
  if (x.dims) y.dims = Ints{x.rank()};
  if (chance(0.3)) y = {e_->size_of(x.value), Ints{}};
  if (chance(0.5)) y.value = e_->cast(y.value, t);
  keep(y.value, y.dims);
  if (chance(0.3) && y.dims && y.rank() == 0 && x.dims && x.count() < 40 && y.value->dtype() == DType::i64)
    keep(e_->range(e_->i64(0), y.value, e_->i64(1)), Ints{x.count()});
  if (chance(0.4) && y.dims && is_int(y.value->dtype())) {
    const Sized factor = chance(0.5) ? y : Sized{e_->scalar(y.value->dtype(), static_cast<double>(below(5))), Ints{}};
    const char* op = one_of({"Mul", "Add", "Sub"});
    emit(op, {y, factor}, {}, y.dims);
  }
}

void Drawer::of_data() {
  const Sized x = pick(Kind::any);
  switch (below(4)) {
    case 3: {
      const Sized boxes{e_->constant(moderate({1, 3, 4})), Ints{}}, scores{e_->constant(moderate({1, 1, 3})), Ints{}};
      if (x.value->dtype() != DType::i64 || x.rank() != 0) return emit("NonMaxSuppression", {boxes, scores, {e_->i64(2), Ints{}}}, {}, std::nullopt);
      return emit("NonMaxSuppression", {boxes, scores, x}, {}, std::nullopt);
    }
    case 0:
      if (x.rank() > 0) emit("NonZero", {x}, {}, std::nullopt);
      return;
    case 1: {
      if (x.rank() == 0 || (*x.dims)[0] == 0) return;
      Value* mask = e_->constant(tensor(DType::boolean, {(*x.dims)[0]}));
      Value* kept = chance(0.5) ? mask : e_->emit("Equal", {mask, e_->constant(tensor(DType::boolean, {}))});
      return emit("Compress", {x, {kept, Ints{}}}, {{"axis", std::int64_t{0}}}, std::nullopt);
    }
    default: {
      if (!contains({DType::f32, DType::f64, DType::i64, DType::i8}, x.value->dtype())) return;
      for (Value* v : e_->emit_n("Unique", {x.value}, {{"sorted", std::int64_t{1}}}, 4)) keep(v, std::nullopt);
    }
  }
}

void Drawer::spread() {
  const DType t = chance(0.5) ? DType::f32 : DType::i64;
  switch (below(3)) {
    case 0: {
      const Sized x = one_of(values_);
      return keep(e_->emit("ConstantOfShape", {e_->shape_of(x.value)}, {{"value", tensor(t, {1})}}), x.dims);
    }
    case 1: {
      const Sized x = pick(Kind::numeric);
      return x.rank() == 2 ? emit("EyeLike", {x}, {}, x.dims) : void();
    }
    default: {
      const Sized x = pick(Kind::numeric);
      if (x.rank() != 1 || x.count() == 0) return;
      const Sized updates = constant(x.value->dtype(), {1});
      if (chance(0.5)) return emit("ScatterND", {x, {e_->constant({1, 1}, std::vector<std::int64_t>{0}), Ints{}}, updates}, {}, x.dims);
      emit("ScatterElements", {x, {e_->ints({0}), Ints{}}, updates}, {}, x.dims);
    }
  }
}

// ---- with weights

void Drawer::layer() {
  Sized x = pick(Kind::real);
  if (x.rank() < 2 || x.value->dtype() != DType::f32) return;
  const std::int64_t size = x.dims->back();
  Ints dims = *x.dims;
  const auto weights = [&](Ints of) { return Sized{e_->constant(moderate(of)), of}; };
  dims.back() = 2;
  switch (below(4)) {
    case 0:
      if (size == 0) return;
      if (chance(0.3) && x.rank() == 2) return emit("MatMul", {x, {e_->transpose(x.value, {1, 0}), Ints{}}}, {}, Ints{dims[0], dims[0]});
      return emit("MatMul", {x, weights({size, 2})}, {}, dims);
    case 1:
      if (x.rank() == 2 && size > 0) emit("Gemm", {x, weights({size, 2}), weights({2})}, {}, dims);
      return;
    case 2:
      if (size > 0) emit("LayerNormalization", {x, weights({size}), weights({size})}, {}, x.dims);
      return;
    default: {
      const std::int64_t channels = (*x.dims)[1];
      if (channels == 0) return;
      Value* variance = e_->emit("Abs", {weights({channels}).value});
      emit("BatchNormalization", {x, weights({channels}), weights({channels}), weights({channels}), {variance, Ints{}}}, {}, x.dims);
    }
  }
}

void Drawer::image() {
  Sized x = pick(Kind::real);
  if (x.rank() > 3) return;
  while (x.rank() < 4) {
    x.value = e_->unsqueeze(x.value, {0});
    x.dims->insert(x.dims->begin(), 1);
  }
  const bool has_pixels = (*x.dims)[2] > 0 && (*x.dims)[3] > 0;
  if (!has_pixels && chance(0.95)) return;  // ONNX Runtime refuses most of these
  Ints dims = *x.dims;
  const Ints kernel = {2, 2}, pads = {0, 0, 1, 1};
  switch (below(4)) {
    case 0:
      if (dims[1] == 0 || x.value->dtype() != DType::f32) return;
      dims[1] = 2;
      return emit("Conv", {x, {e_->constant(moderate({2, (*x.dims)[1], 2, 2})), Ints{}}}, {{"pads", pads}}, dims);
    case 1: return emit("MaxPool", {x}, {{"kernel_shape", kernel}, {"pads", pads}}, dims);
    case 2:
      if (x.value->dtype() != DType::f32) return;
      return emit("AveragePool", {x}, {{"kernel_shape", kernel}, {"pads", pads}, {"count_include_pad", below(2)}}, dims);
    default: {
      if (x.count() == 0 || x.value->dtype() != DType::f32) return;
      dims[2] *= 2;
      dims[3] *= 2;
      const char* mode = one_of({"nearest", "linear", "cubic"});
      emit("Resize", {x, {nullptr, Ints{}}, {e_->constant({4}, std::vector<float>{1, 1, 2, 2}), Ints{}}}, {{"mode", std::string(mode)}}, dims);
    }
  }
}

void Drawer::codes() {
  const Sized x = pick(Kind::real);
  if (x.value->dtype() != DType::f32) return;
  Value* scale = e_->constant(0.05F);
  Value* zero = chance(0.5) ? e_->constant(std::uint8_t{7}) : e_->constant(std::int8_t{-3});
  Value* y = e_->emit("QuantizeLinear", {x.value, scale, zero});
  keep(y, x.dims);
  keep(e_->emit("DequantizeLinear", {y, scale, zero}), x.dims);
}

void Drawer::recurrent() {
  const Sized x = pick(Kind::real);
  if (x.rank() != 3 || x.value->dtype() != DType::f32 || x.count() == 0) return;
  const char* op = one_of({"LSTM", "GRU", "RNN"});
  const std::int64_t size = (*x.dims)[2], gates = std::string_view(op) == "LSTM" ? 4 : std::string_view(op) == "GRU" ? 3 : 1;
  Value* w = e_->constant(moderate({1, gates * 2, size}));
  Value* r = e_->constant(moderate({1, gates * 2, 2}));
  const Values y = e_->emit_n(op, {x.value, w, r}, {{"hidden_size", std::int64_t{2}}}, std::string_view(op) == "LSTM" ? 3 : 2);
  keep(y[0], Ints{(*x.dims)[0], 1, (*x.dims)[1], 2});
  for (std::size_t i = 1; i < y.size(); ++i) keep(y[i], Ints{1, (*x.dims)[1], 2});
}

void Drawer::branch() {
  const Sized x = pick(Kind::numeric), y = like(x);
  if (*y.dims != *x.dims || (!is_float(x.value->dtype()) && !is_signed_int(x.value->dtype()))) return;
  Value* some = e_->reduce_all("ReduceMax", e_->cast(x.value, DType::f32), false);
  Value* condition = e_->less(some, e_->constant(1.0F));
  const auto body = [&](const char* op, const Sized& of) {
    GraphPtr g = drawn_.graph->make_subgraph();
    Emitter inside(*g, target_, e_->shared_origin());
    g->set_outputs({inside.emit(op, {of.value})});
    return g;
  };
  const DType t = x.value->dtype();
  ir::Node& n = drawn_.graph->add({.op = "If",
                                   .inputs = {condition},
                                   .attrs = {{"then_branch", body("Abs", x)}, {"else_branch", body("Neg", y)}},
                                   .outputs = {{"", t, Shape()}},
                                   .origin = e_->shared_origin()});
  keep(n.output(), x.dims);
}

}  // namespace t2o::facts_test
