#include "tf/import_frame.h"

#include <algorithm>

namespace t2o::tf {

void ImportContext::report(const Frame& f, std::uint32_t n, Diagnostic d) {
  d.origin = origin(f, n);
  diagnostics.push_back(std::move(d));
}

Origin ImportContext::origin(const Frame& f, std::uint32_t n) {
  const NodeDef& def = f.body->node(n);
  Origin o{f.prefix + std::string(def.name), std::string(def.op), f.body->name};
  if (f.labels.are_names) return o;
  if (std::string label = f.labels.of(*f.body, n); label != o.node) o.brief = std::move(label);
  return o;
}

Value* ImportContext::poison() {
  if (!poison_) poison_ = graph->add_input("poison", DType::undefined, {});
  return poison_;
}

Attrs ImportContext::decode_attrs(const Frame& f, std::uint32_t n) const {
  const NodeDef& def = f.body->node(n);
  const OpDef* op = f.body->ops[n]->def;
  const AttrContext context{bodies.graph().owner, &f.attrs};
  Attrs attrs;
  attrs.reserve(op ? std::max(def.attrs.size(), op->attrs.size()) : def.attrs.size());
  for (const RawAttr& a : def.attrs) {
    if (a.name == "_class") continue;
    const AttrDef* expected = op ? op->attr(a.name) : nullptr;
    attrs.push_back({std::string(a.name),
                     decode_attr(a.value, context, expected ? std::string_view(expected->type) : "")});
    if (expected && !is_of_type(attrs.back().value, expected->type))
      fail(Code::bad_model, "attribute '" + expected->name + "' is of another type than " + expected->type);
  }
  if (op) add_defaults(*op, attrs);
  return attrs;
}

}  // namespace t2o::tf
