#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tf/import_frame.h"

namespace t2o::tf {

// The inputs and outputs of the main graph: what the request names, or what is found.
class MainInterface {
 public:
  explicit MainInterface(ImportContext& c) : c_(c) {}
  void find();  // reports what is wrong
  bool found_outputs() const { return c_.request.fetches.empty() && !fetches_.empty(); }
  void note_found_outputs(Severity) const;
  std::vector<std::uint32_t> roots() const;  // the nodes of the outputs that are computed
  std::vector<bool>& needed() { return needed_; }
  bool is_fed(const InputRef& in) const { return !fed_.empty() && fed_.contains(key({in.node, in.output})); }
  Value* fed(const InputRef& in) const { return fed_.at(key({in.node, in.output})); }

  Value* add_placeholder(const Frame&, std::uint32_t node, bool has_default);  // one that the request does not name
  Values add_components(const Frame&, std::uint32_t node);  // of an element of a dataset or queue; null: not read
  template <class Find> void set_outputs(const Frame& main, Find&& find);  // find: the value of a tensor, or null
  Interface describe(std::vector<State>) const;

 private:
  struct Tensor {
    std::int32_t node = 0, output = 0;
  };
  static std::uint64_t key(Tensor t) {
    return static_cast<std::uint64_t>(t.node) << 32 | static_cast<std::uint32_t>(t.output);
  }
  std::vector<Feed> feeds_or_placeholders();
  bool locate(const std::string& tensor, std::string_view what, Tensor&);
  template <class T> void name_found(std::vector<T>& found, const std::vector<std::string>& names, const char* option);
  void add_feed(const Feed&, Tensor);
  void mark_needed();
  ir::OutputSpec known_type(Tensor);
  std::vector<std::int32_t> components_read(std::uint32_t node) const;
  void name_outputs(Values);

  ImportContext& c_;
  std::unordered_map<std::uint64_t, Value*> fed_;  // node and output of the main graph
  std::unordered_map<const Value*, std::string> input_tensors_;
  std::vector<bool> needed_;
  std::vector<Fetch> fetches_;
  std::vector<Tensor> fetched_;
};

template <class Find>
void MainInterface::set_outputs(const Frame& main, Find&& find) {
  Values outputs;
  std::unordered_set<const Value*> taken;
  for (std::size_t i = 0; i < fetched_.size(); ++i) {
    const Tensor t = fetched_[i];
    Value* v = find(InputRef{.node = t.node, .output = t.output});
    if (!v) {
      c_.diagnostics.push_back(
          {.code = Code::bad_option,
           .message = "the output '" + fetches_[i].tensor + "' does not exist: its node has " +
                      std::to_string(main.outputs[static_cast<std::uint32_t>(t.node)].count) + " outputs"});
      continue;
    }
    const bool is_own = v->producer() && v->producer()->op() != "ReadVariableOp" && taken.insert(v).second;
    outputs.push_back(
        is_own ? v
               : add_identity(*c_.graph, v, std::string(main.body->node(static_cast<std::size_t>(t.node)).name)));
  }
  if (outputs.size() == fetched_.size()) name_outputs(std::move(outputs));
}

}  // namespace t2o::tf
