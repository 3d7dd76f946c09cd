#include "op_mappers/registry.h"

#include <algorithm>
#include <stdexcept>

#include "op_mappers/list_types.h"

namespace t2o {

void OpRegistry::Row::add(const Mapper& m, const GraphMapper& g) {
  for (const std::string& op : ops_)
    if (!r_->table_[op].emplace(since_, Entry{since_, m, g, note_, ignored_, r_->family_, refuses_}).second)
      throw std::logic_error("two rows for " + op + " since " + std::to_string(since_));
}

void OpRegistry::Row::by(Mapper m) { add(m, nullptr); }
void OpRegistry::Row::by_graph(GraphMapper m) { add(nullptr, m); }

void OpRegistry::Row::to(std::string onnx_op, std::vector<std::string> copied) {
  by([op = std::move(onnx_op), copied = std::move(copied)](MapperContext& c) {
    Attrs attrs;
    for (const std::string& n : copied)
      if (const Attr* a = c.raw_attr(n)) attrs.push_back({n, *a});
    return Values{c.emit(op, c.inputs(), std::move(attrs))};
  });
}

std::string OpRegistry::form_of(const ir::Node& n) {
  const auto complex = [](const Value* v) { return v && is_complex(v->dtype()); };
  const bool any = std::ranges::any_of(n.inputs(), complex) || std::ranges::any_of(n.outputs(), complex);
  if (any) return complex_form(n.op());
  return n.op().find(' ') == std::string::npos ? n.op()
                                               : "";  // a file may hold anything, the name of such a row too
}

const OpRegistry::Entry* OpRegistry::find(const std::string& op, int opset) const {
  const auto it = table_.find(op);
  if (it == table_.end()) return nullptr;
  const auto above = it->second.upper_bound(opset);
  return above == it->second.begin() ? nullptr : &std::prev(above)->second;
}

}  // namespace t2o
