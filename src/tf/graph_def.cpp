#include "tf/graph_def.h"

#include "support/wire.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kMaxAttrs = 1000;  // of one node: they are searched one by one

RawAttr read_map_entry(WireReader entry) {
  RawAttr a;
  while (entry.next()) {
    if (entry.field() == 1) a.name = entry.text();
    if (entry.field() == 2) a.value = entry.bytes();
  }
  return a;
}

std::pair<std::string_view, std::string_view> read_text_pair(WireReader entry) {
  const RawAttr a = read_map_entry(entry);
  return {a.name, as_text(a.value)};
}

// The spans of the nodes are set when the lists no longer move.
class NodeListBuilder {
 public:
  void add(WireReader r) {
    NodeDef n;
    const std::size_t first_input = list_.inputs.size(), first_attr = list_.attrs.size();
    while (r.next()) {
      switch (r.field()) {
        case 1:
          n.name = r.text();
          break;
        case 2:
          n.op = r.text();
          break;
        case 3:
          list_.inputs.push_back(r.text());
          break;
        case 4:
          n.device = r.text();
          break;
        case 5:
          list_.attrs.push_back(read_map_entry(r.message()));
          break;
        default:
          break;
      }
    }
    counts_.push_back({list_.inputs.size() - first_input, list_.attrs.size() - first_attr});
    if (counts_.back().second > kMaxAttrs)
      fail_reading("node '" + std::string(n.name) + "' has " + std::to_string(counts_.back().second) +
                   " attributes");
    list_.nodes.push_back(n);
  }
  NodeList finish() {
    const std::string_view* input = list_.inputs.data();
    const RawAttr* attr = list_.attrs.data();
    for (std::size_t i = 0; i < list_.nodes.size(); ++i) {
      list_.nodes[i].inputs = {input, counts_[i].first};
      list_.nodes[i].attrs = {attr, counts_[i].second};
      input += counts_[i].first;
      attr += counts_[i].second;
    }
    return std::move(list_);
  }

 private:
  NodeList list_;
  std::vector<std::pair<std::size_t, std::size_t>> counts_;
};

RawFunction read_raw_function(WireReader r, Bytes bytes) {
  RawFunction f{{}, bytes};
  while (r.next()) {
    if (r.field() != 1) continue;
    WireReader signature = r.message();
    while (signature.next())
      if (signature.field() == 1) f.name = signature.text();
  }
  return f;
}

void read_library(WireReader r, GraphDef& g) {
  while (r.next())
    if (r.field() == 1) g.functions.push_back(read_raw_function(r.message(), r.bytes()));
}

void read_versions(WireReader r, GraphDef& g) {
  while (r.next()) {
    if (r.field() == 1) g.producer = r.integer();
    if (r.field() == 2) g.min_consumer = r.integer();
  }
}

void read_arg_attrs(WireReader entry, FunctionDef& f) {
  std::uint64_t arg = 0;
  std::vector<RawAttr> attrs;
  while (entry.next()) {
    if (entry.field() == 1) arg = entry.varint();
    if (entry.field() != 2) continue;
    WireReader value = entry.message();
    while (value.next())
      if (value.field() == 1) attrs.push_back(read_map_entry(value.message()));
  }
  if (arg >= f.signature.inputs.size()) return;  // attributes of an argument that does not exist say nothing
  if (f.arg_attrs.size() <= arg) f.arg_attrs.resize(arg + 1);
  f.arg_attrs[arg] = std::move(attrs);
}

}  // namespace

const Bytes* NodeDef::attr(std::string_view wanted) const {
  for (const RawAttr& a : attrs)
    if (a.name == wanted) return &a.value;
  return nullptr;
}

GraphDef parse_graph_def(Bytes bytes, Owner owner) {
  GraphDef g;
  g.owner = std::move(owner);
  NodeListBuilder nodes;
  for (WireReader r(bytes); r.next();) {
    switch (r.field()) {
      case 1:
        nodes.add(r.message());
        break;
      case 2:
        read_library(r.message(), g);
        break;
      case 4:
        read_versions(r.message(), g);
        break;
      default:
        break;
    }
  }
  g.body = nodes.finish();
  return g;
}

FunctionDef parse_function(Bytes bytes, const Owner& owner) {
  FunctionDef f;
  for (WireReader r(bytes); r.next();)
    if (r.field() == 1) f.signature = parse_op_def(r.bytes(), owner);
  NodeListBuilder nodes;
  for (WireReader r(bytes); r.next();) {
    switch (r.field()) {
      case 3:
        nodes.add(r.message());
        break;
      case 4:
        f.ret.push_back(read_text_pair(r.message()));
        break;
      case 5:
        f.attrs.push_back(read_map_entry(r.message()));
        break;
      case 6:
        f.control_ret.push_back(read_text_pair(r.message()));
        break;
      case 7:
        read_arg_attrs(r.message(), f);
        break;
      default:
        break;
    }
  }
  f.body = nodes.finish();
  return f;
}

}  // namespace t2o::tf
