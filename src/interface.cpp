#include "interface.h"

#include <algorithm>

#include "onnx/emitter.h"
#include "onnx/image_layout.h"

namespace t2o {
namespace {

const Ints kToNchw = onnx::channels_first_perm(4), kToNhwc = onnx::channels_last_perm(4);

std::string_view bare(std::string_view name) {
  return name.ends_with(":0") ? name.substr(0, name.size() - 2) : name;
}

Value* find_by_name(const Values& values, const std::string& name) {
  const auto it = std::ranges::find_if(values, [&](const Value* v) { return bare(v->name()) == bare(name); });
  return it == values.end() ? nullptr : *it;
}

// By its name, or by what was given for it where it was renamed: "X:0[1,28,28,3]".
Value* find_named(const Values& values, const std::string& name, const Strings& given,
                  const Strings& renamed) {
  Value* v = find_by_name(values, name);
  for (std::size_t i = 0; i < std::min(given.size(), renamed.size()) && !v; ++i)
    if (bare(given[i].substr(0, given[i].find('['))) == bare(name)) v = find_by_name(values, renamed[i]);
  return v;
}

Shape permuted(const Shape& s, const Ints& perm) {
  Ints dims;
  for (const std::int64_t p : perm) dims.push_back(s[static_cast<int>(p)]);
  return Shape(std::move(dims));
}

std::string names_of(const Values& values) {
  std::string names;
  for (const Value* v : values) names += (names.empty() ? "" : ", ") + v->name();
  return names;
}

bool check_rank(const Value* v, const Values& all, const std::string& name, const char* option,
                Diagnostics& diagnostics) {
  if (v && v->shape().ranked() && v->shape().rank() == 4) return true;
  std::string message = std::string(option) + ": ", remedy;
  if (!v) {
    message += "there is no '" + name + "'";
    remedy = "the names are: " + names_of(all);
  } else if (v->shape().ranked()) {
    message += "'" + name + "' has rank " + std::to_string(v->shape().rank()) + ", and an image has rank 4";
    remedy = std::string("leave it out of ") + option;
  } else {
    message += "the rank of '" + name + "' is not known";
    remedy = all == v->graph()->inputs() ? "give its shape: --inputs " + name + "[...]"
                                         : "give the shapes of the inputs: --inputs NAME[...]";
  }
  diagnostics.push_back({Severity::error, Code::bad_option, message, remedy, {}, SourceLoc::here()});
  return false;
}

void input_as_nchw(ir::Graph& g, const onnx::Target& target, Value* v) {
  const std::string name = v->name();
  Emitter e(g, target, std::make_shared<const Origin>(Origin{name, "", ""}), g.first());
  Value* fresh = g.add_input(name + "/nchw", v->dtype(), permuted(v->shape(), kToNchw));
  Value* nhwc = e.transpose(fresh, kToNhwc);
  g.replace_all_uses(v, nhwc);
  Values order = g.inputs();
  order.pop_back();
  std::ranges::replace(order, v, fresh);
  g.reorder_inputs(std::move(order));
  g.remove_input(v);
  g.rename(fresh, name);
}

void output_as_nchw(ir::Graph& g, const onnx::Target& target, Value* v) {
  const std::string name = v->name();
  Emitter e(g, target, std::make_shared<const Origin>(Origin{name, "", ""}));
  Value* nchw = e.transpose(v, kToNchw);
  g.derive(nchw, v, {ir::Alteration::transpose(kToNchw)});
  g.derive(v, v, {});  // its name goes
  g.rename(v, name + "/nhwc");
  Values outputs = g.outputs();
  std::ranges::replace(outputs, v, nchw);
  g.set_outputs(std::move(outputs));
  g.rename(nchw, name);
}

}  // namespace

// ONNX Runtime takes and gives no complex tensors.
void refuse_complex_interface(const ir::Graph& g, Diagnostics& diagnostics) {
  const auto check = [&](const char* what, const Value* v) {
    if (!is_complex(v->dtype())) return;
    diagnostics.push_back(
        {Severity::error, Code::unsupported_type,
         std::string("the ") + what + " '" + v->name() +
             "' is complex, and no runtime has complex inputs or outputs",
         "--complex-as-pairs adds a last axis of size 2, with the real and the imaginary part",
         v->producer() ? v->producer()->origin() : Origin{}, SourceLoc::here()});
  };
  for (const Value* v : g.inputs()) check("input", v);
  for (const Value* v : g.outputs()) check("output", v);
}

void name_dims(ir::Graph& g) {
  bool batch_taken = false;
  for (Value* v : g.inputs()) {
    if (!v->shape().ranked()) continue;
    Ints dims = v->shape().dims();
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != kUnknownDim) continue;
      const std::string base(bare(v->name()));
      const std::string name = i != 0        ? base + "_dim" + std::to_string(i)
                               : batch_taken ? base + "_batch"
                                             : "batch";
      batch_taken = batch_taken || i == 0;
      dims[i] = g.symbols().intern(name);
    }
    g.set_type(v, v->dtype(), Shape(std::move(dims)));
  }
}

// ONNX's checker wants a shape of each input and output of the main graph; there is none of unknown rank.
void warn_unranked(const ir::Graph& g, Diagnostics& diagnostics) {
  const auto lacks_rank = [](const Value* v) { return !v->shape().ranked(); };
  const auto warn = [&](const char* what, const Value* v, std::string remedy) {
    diagnostics.push_back({Severity::warning, Code::bad_option,
                           std::string("the rank of ") + what + " '" + v->name() +
                               "' is not known: ONNX Runtime accepts such a model, ONNX's checker does not",
                           std::move(remedy), v->producer() ? v->producer()->origin() : Origin{},
                           SourceLoc::here()});
  };
  const Value* open = nullptr;  // an input whose shape the user can give
  for (const Value* v : g.inputs()) {
    if (!lacks_rank(v)) continue;
    if (!open) open = v;
    warn("input", v, "give its shape: --inputs " + v->name() + "[...]");
  }
  for (const Value* v : g.outputs())
    if (lacks_rank(v))
      warn("output", v,
           open ? "give the inputs' shapes: --inputs " + open->name() + "[...]"
                : "end it with tf.ensure_shape in the model, or ask for other outputs with --outputs");
}

void apply_layout_options(ir::Graph& g, const onnx::Target& target, const tf2onnx::Options& options,
                          Diagnostics& diagnostics) {
  for (const std::string& name : options.inputs_as_nchw)
    if (Value* v = find_named(g.inputs(), name, options.inputs, options.rename_inputs);
        check_rank(v, g.inputs(), name, "--inputs-as-nchw", diagnostics))
      input_as_nchw(g, target, v);
  for (const std::string& name : options.outputs_as_nchw)
    if (Value* v = find_named(g.outputs(), name, options.outputs, options.rename_outputs);
        check_rank(v, g.outputs(), name, "--outputs-as-nchw", diagnostics))
      output_as_nchw(g, target, v);
}

}  // namespace t2o
