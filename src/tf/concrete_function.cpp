#include "tf/concrete_function.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <unordered_set>

#include "diagnostics.h"
#include "support/nearest.h"
#include "support/text.h"
#include "support/wire.h"
#include "support/wire_writer.h"
#include "tf/node_writer.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kListed = 20;
constexpr int kMaxDepth = 64;  // of structures in structures

struct TensorSpec {
  std::string name;
  Shape shape;
};

// A StructuredValue, flattened as TensorFlow does it: mappings by key.
struct Structure {
  std::vector<TensorSpec> tensors;
  std::optional<Strings> keys;  // of a mapping whose values are single tensors
  bool plain = true;            // nothing but TensorSpecs and Python's own values
};

TensorSpec read_spec(WireReader r) {
  TensorSpec t;
  while (r.next()) {
    if (r.field() == 1) t.name = r.text();
    if (r.field() == 2) t.shape = decode_shape(r.bytes());
  }
  return t;
}

void flatten(WireReader r, Structure& out, int depth);

void flatten_mapping(WireReader r, Structure& out, int depth) {
  std::map<std::string_view, Bytes> fields;
  while (r.next()) {
    if (r.field() != 1) continue;
    const auto [key, value] = r.map_entry();
    fields.insert_or_assign(key, value);
  }
  Strings keys;
  bool single = true;
  for (const auto& [key, value] : fields) {
    const std::size_t before = out.tensors.size();
    flatten(WireReader(value), out, depth + 1);
    single = single && out.tensors.size() == before + 1;
    keys.emplace_back(key);
  }
  if (depth == 0 && single) out.keys = std::move(keys);
}

void flatten(WireReader r, Structure& out, int depth) {
  if (depth > kMaxDepth) r.corrupt("structures nested too deeply");
  while (r.next()) {
    switch (r.field()) {
      case 33:  // TensorSpecProto
      case 35:  // BoundedTensorSpecProto
        out.tensors.push_back(read_spec(r.message()));
        break;
      case 34:  // TypeSpecProto: of several tensors
        out.plain = false;
        break;
      case 51:  // ListValue
      case 52:  // TupleValue
        for (WireReader list = r.message(); list.next();)
          if (list.field() == 1) flatten(list.message(), out, depth + 1);
        break;
      case 53:  // DictValue
        flatten_mapping(r.message(), out, depth);
        break;
      case 54:  // NamedTupleValue
        for (WireReader tuple = r.message(); tuple.next();) {
          if (tuple.field() != 2) continue;
          for (WireReader pair = tuple.message(); pair.next();)
            if (pair.field() == 2) flatten(pair.message(), out, depth + 1);
        }
        break;
      default:
        break;
    }
  }
}

struct SavedFunction {
  std::vector<std::size_t> captured;  // objects, which are the last arguments
  Structure inputs, outputs;
};

struct Object {
  std::string_view constant;  // the node that holds it
  std::optional<std::size_t> asset;
  std::string_view kind = "an object";
  Strings functions;
};

struct Objects {
  std::vector<Object> all;
  std::map<std::string_view, std::size_t> methods;  // of the root
  std::map<std::string_view, Bytes> functions;      // SavedConcreteFunctions
};

Object read_object(WireReader r) {
  Object o;
  while (r.next()) {
    const std::uint32_t kind = r.field();
    if (kind == 10) o.kind = "a resource";
    if (kind == 12) o.kind = "a tensor of another function";
    if (kind != 5 && kind != 6 && kind != 8 && kind != 9) continue;
    if (kind == 5) o.asset = 0;
    for (WireReader m = r.message(); m.next();) {
      if (kind == 5 && m.field() == 1) o.asset = static_cast<std::size_t>(m.varint());
      if ((kind == 6 || kind == 8) && m.field() == 1) o.functions.emplace_back(m.text());
      if (kind == 9 && m.field() == 1) o.constant = m.text();
    }
  }
  return o;
}

Objects read_objects(Bytes object_graph) {
  Objects objects;
  for (WireReader r(object_graph); r.next();) {
    if (r.field() == 1) {
      for (WireReader node = r.message(); objects.all.empty() && node.next();) {
        if (node.field() != 1) continue;
        std::string_view name;
        std::size_t id = 0;
        for (WireReader child = node.message(); child.next();) {
          if (child.field() == 1) id = static_cast<std::size_t>(child.varint());
          if (child.field() == 2) name = child.text();
        }
        objects.methods.emplace(name, id);
      }
      objects.all.push_back(read_object(r.message()));
    }
    if (r.field() != 2) continue;
    const auto [name, value] = r.map_entry();
    objects.functions.emplace(name, value);
  }
  std::erase_if(objects.methods, [&](const auto& m) {
    return m.second >= objects.all.size() || objects.all[m.second].functions.empty();
  });
  return objects;
}

SavedFunction read_function(Bytes saved_concrete_function) {
  SavedFunction f;
  for (WireReader r(saved_concrete_function); r.next();) {
    if (r.field() == 2)
      r.each_varint([&](std::uint64_t id) { f.captured.push_back(static_cast<std::size_t>(id)); });
    if (r.field() == 3) flatten(r.message(), f.inputs, 0);
    if (r.field() == 4) flatten(r.message(), f.outputs, 0);
  }
  return f;
}

std::string listed(const Strings& names) { return joined(names, ", ", kListed); }

Strings names_of(const Objects& objects) {
  Strings names;
  for (const auto& [name, value] : objects.functions) names.emplace_back(name);
  return names;
}

std::string choose_by_number(std::int64_t number, const Objects& objects, const std::string& model) {
  const auto call = objects.methods.find("__call__");
  if (call == objects.methods.end())
    fail(Code::bad_option,
         "--concrete-function: the model in " + model + " has no __call__ with concrete functions",
         "give the name of a function: " + listed(names_of(objects)));
  const Strings& functions = objects.all[call->second].functions;
  const auto count = static_cast<std::int64_t>(functions.size());
  if (number >= count || number < -count)
    fail(Code::bad_option,
         "--concrete-function: there is no number " + std::to_string(number) + "; __call__ has " +
             std::to_string(count) + (count == 1 ? " concrete function" : " concrete functions"),
         count == 1 ? "give 0" : "give a number from 0 to " + std::to_string(count - 1));
  return nth(functions, number < 0 ? number + count : number);
}

std::string choose(const std::string& wanted, const Objects& objects, const std::string& model) {
  std::int64_t number = 0;
  const char* end = wanted.data() + wanted.size();
  if (const auto [stop, error] = std::from_chars(wanted.data(), end, number);
      error == std::errc() && stop == end)
    return choose_by_number(number, objects, model);
  if (objects.functions.contains(wanted)) return wanted;
  Strings known;
  for (const auto& [name, id] : objects.methods) {
    const Strings& functions = objects.all[id].functions;
    if (name == wanted && functions.size() == 1) return functions.front();
    if (name == wanted)
      fail(Code::bad_option,
           "--concrete-function: '" + wanted + "' has " + std::to_string(functions.size()) +
               " concrete functions",
           "give the name of one: " + listed(functions));
    known.emplace_back(name);
  }
  for (std::string& name : names_of(objects)) known.push_back(std::move(name));
  const std::string near = nearest(wanted, known);
  fail(Code::bad_option, "--concrete-function: there is no function '" + wanted + "' in " + model,
       (near.empty() ? "" : "did you mean '" + near + "'? ") + "The functions are: " + listed(known));
}

const RawFunction& find_function(const GraphDef& g, const std::string& name) {
  for (const RawFunction& f : g.functions)
    if (f.name == name) return f;
  fail(Code::bad_model, "the concrete function '" + name + "' is not in the library of the graph");
}

struct BothOwners {
  Owner model, added;
  void give_back(Bytes part) const { model.give_back(part); }  // what is added has no weights
};

// The nodes of a call, whose names differ from those of the graph.
class Caller {
 public:
  Caller(const GraphDef& g, const std::string& name, SavedFunction saved)
      : name_(name),
        saved_(std::move(saved)),
        function_(parse_function(find_function(g, name).bytes, g.owner)) {
    for (const NodeDef& n : g.body.nodes) taken_.insert(n.name);
    if (saved_.captured.size() > function_.signature.inputs.size())
      fail(Code::bad_model,
           "the concrete function '" + name + "' has fewer arguments than it captures objects");
  }

  ConcreteCall run(const Objects& objects, const std::vector<Asset>& assets, const ObjectNodes& nodes) {
    call_.signature.name = name_;
    const std::string node = fresh("concrete_function");
    add_inputs();
    for (const std::size_t object : saved_.captured) capture(object, objects, assets, nodes);
    add_outputs(node);
    NodeWriter call(node, "StatefulPartitionedCall");
    for (const std::string& tensor : arguments_) call.input(tensor);
    DTypes in, out;
    for (const ArgDef& a : function_.signature.inputs) in.push_back(a.type);
    for (const ArgDef& a : function_.signature.outputs) out.push_back(a.type);
    call.attr("Tin", types_value(in)).attr("Tout", types_value(out)).attr("f", function_value(name_));
    append_field(call_.nodes, 1, call.text());
    return std::move(call_);
  }

 private:
  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; taken_.contains(name) || made_.contains(name); ++i)
      name = wanted + "_" + std::to_string(i);
    return *made_.insert(name).first;
  }

  // Names that a person has given, where they tell the tensors apart.
  Strings names_of_inputs(std::size_t count) const {
    const auto& specs = saved_.inputs.tensors;
    Strings names;
    for (const TensorSpec& s : specs) names.push_back(s.name);
    const std::set<std::string> different(names.begin(), names.end());
    if (saved_.inputs.plain && names.size() == count && different.size() == count && !different.contains(""))
      return names;
    names.clear();
    for (std::size_t i = 0; i < count; ++i) names.push_back(function_.signature.inputs[i].name);
    return names;
  }

  void add_inputs() {
    const std::size_t count = function_.signature.inputs.size() - saved_.captured.size();
    const Strings names = names_of_inputs(count);
    const bool has_specs = saved_.inputs.plain && saved_.inputs.tensors.size() == count;
    for (std::size_t i = 0; i < count; ++i) {
      const ArgDef& arg = function_.signature.inputs[i];
      const Shape shape = has_specs ? saved_.inputs.tensors[i].shape : Shape();
      const std::string node = fresh(arg.name);
      NodeWriter placeholder(node, "Placeholder");
      placeholder.attr("dtype", type_value(arg.type)).attr("shape", shape_value(shape));
      append_field(call_.nodes, 1, placeholder.text());
      arguments_.push_back(node);
      call_.signature.inputs.push_back({names[i], node + ":0", arg.type, shape, {}, nullptr});
    }
  }

  void capture(std::size_t object, const Objects& objects, const std::vector<Asset>& assets,
               const ObjectNodes& nodes) {
    const auto found = nodes.find(object);
    std::string tensor = found == nodes.end() ? "" : found->second;
    const Object* o = object < objects.all.size() ? &objects.all[object] : nullptr;
    if (tensor.empty() && o) tensor = o->constant;
    if (tensor.empty() && o && o->asset && *o->asset < assets.size()) tensor = assets[*o->asset].tensor;
    if (tensor.empty() || !taken_.contains(tensor.substr(0, tensor.find(':'))))
      fail(Code::not_yet,
           "the concrete function '" + name_ + "' reads " + std::string(o ? o->kind : "an object") +
               " that no signature of the model reads, and the graph has no node for it",
           "save the model with a signature for this function: tf.saved_model.save(model, DIR, "
           "signatures=...)");
    arguments_.push_back(tensor);
    call_.captured.push_back(std::move(tensor));
  }

  // TensorFlow sorts a mapping's results by key; other results are called as the nodes inside, Identity,
  // Identity_1 ...
  void add_outputs(const std::string& node) {
    const auto& results = function_.signature.outputs;
    const auto& keys = saved_.outputs.keys;
    const bool has_keys = saved_.outputs.plain && keys && keys->size() == results.size();
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::string key = has_keys ? (*keys)[i] : "Identity" + (i ? "_" + std::to_string(i) : "") + ":0";
      const auto& specs = saved_.outputs.tensors;
      const Shape shape = saved_.outputs.plain && specs.size() == results.size() ? specs[i].shape : Shape();
      call_.signature.outputs.push_back(
          {key, node + ":" + std::to_string(i), results[i].type, shape, {}, nullptr});
    }
  }

  std::string name_;
  SavedFunction saved_;
  FunctionDef function_;
  std::unordered_set<std::string_view> taken_;
  std::set<std::string, std::less<>> made_;
  Strings arguments_;
  ConcreteCall call_;
};

}  // namespace

ConcreteCall call_concrete_function(const std::string& wanted, const std::string& model, const GraphDef& g,
                                    Bytes saved_object_graph, const std::vector<Asset>& assets,
                                    const ObjectNodes& nodes) {
  const Objects objects = read_objects(saved_object_graph);
  if (objects.functions.empty())
    fail(Code::bad_option, "--concrete-function: " + model + " has no concrete functions",
         "only SavedModels of TensorFlow 2 have them; choose a signature with --signature, or tensors with "
         "--inputs and --outputs");
  const std::string name = choose(wanted, objects, model);
  const auto found = objects.functions.find(name);
  if (found == objects.functions.end())
    fail(Code::bad_model,
         "the concrete function '" + name + "' is not described in the object graph of " + model);
  return Caller(g, name, read_function(found->second)).run(objects, assets, nodes);
}

void append_nodes(GraphDef& g, Bytes graph_def, Owner owner) {
  GraphDef added = parse_graph_def(graph_def, owner);
  NodeList all;
  for (NodeList* list : {&g.body, &added.body}) {
    append(all.inputs, list->inputs);
    append(all.attrs, list->attrs);
    append(all.nodes, list->nodes);
  }
  const std::string_view* input = all.inputs.data();
  const RawAttr* attr = all.attrs.data();
  for (NodeDef& n : all.nodes) {  // the lists hold the nodes' inputs and attributes in their order
    n.inputs = {input, n.inputs.size()};
    n.attrs = {attr, n.attrs.size()};
    input += n.inputs.size();
    attr += n.attrs.size();
  }
  g.body = std::move(all);
  g.owner = Owner(std::make_shared<const BothOwners>(BothOwners{g.owner, std::move(owner)}));
}

}  // namespace t2o::tf
