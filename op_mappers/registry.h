#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "op_mappers/context.h"
#include "op_mappers/refusals.h"

namespace t2o {

using Refuses = std::function<std::optional<Refusal>(const ir::Node&)>;  // none: the row takes the node
using Mapper = std::function<Values(MapperContext&)>;  // one Value for each output of the source node; null: an output nobody may read

// The same for an operator that works on more than tensors: see op_mappers/graph_context.h.
class GraphContext;
struct Mapped;
using GraphMapper = std::function<std::vector<Mapped>(GraphContext&)>;

class OpRegistry {
 public:
  struct Entry {
    int since;
    Mapper map;
    GraphMapper map_graph;             // either this or map
    std::string note;                  // limits, for the support table
    std::vector<std::string> ignored;  // attributes that cannot matter for the result
    std::string family;                // the file that holds the row
    Refuses refuses;                   // nodes that the row does not take, known before they are mapped; may be empty
  };

  // r.op("Relu").to("Relu");   r.op("ResizeBilinear").since(11).note("...").ignores({"..."}).by(map_resize);
  class Row {
   public:
    Row& since(int opset) { since_ = opset; return *this; }
    Row& note(std::string n) { note_ = std::move(n); return *this; }
    Row& refuses(Refuses r) { refuses_ = std::move(r); return *this; }
    Row& ignores(std::vector<std::string> attrs) { ignored_ = std::move(attrs); return *this; }
    void by(Mapper m);
    void by_graph(GraphMapper m);
    void to(std::string onnx_op, std::vector<std::string> copied_attrs = {});  // the same inputs in the same order

   private:
    friend class OpRegistry;
    void add(const Mapper&, const GraphMapper&);
    Row(OpRegistry* r, std::vector<std::string> ops) : r_(r), ops_(std::move(ops)) {}
    OpRegistry* r_;
    std::vector<std::string> ops_, ignored_;
    int since_ = onnx::kLowestOpset;
    std::string note_;
    Refuses refuses_;
  };
  template <class... S> Row op(const S&... names) { return Row(this, {std::string(names)...}); }
  // Rows for nodes with complex inputs or outputs, which no other row is asked for; see op_mappers/complex.h.
  template <class... S> Row complex(const S&... names) { return Row(this, {complex_form(names)...}); }
  static std::string complex_form(const std::string& op) { return op + " (complex)"; }  // its name in the table
  static std::string form_of(const ir::Node&);                                          // the name to look up for a node
  Row ops(std::vector<std::string> names) { return Row(this, std::move(names)); }

  void family(std::string name) { family_ = std::move(name); }  // of the rows that follow
  const Entry* find(const std::string& op, int opset) const;    // the highest since <= opset
  bool knows(const std::string& op) const { return table_.contains(op); }
  int lowest_opset(const std::string& op) const { return table_.at(op).begin()->first; }
  const std::map<std::string, std::map<int, Entry>>& table() const { return table_; }

 private:
  std::map<std::string, std::map<int, Entry>> table_;
  std::string family_;
};

const OpRegistry& tf_registry();  // all rows of TensorFlow's ops, made at the first call

}  // namespace t2o
