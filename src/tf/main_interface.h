#pragma once
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
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
  void set_outputs(Frame& main, const std::function<Value*(const InputRef&)>& find);  // find: the value of a tensor, or null
  Interface describe(std::vector<State>) const;

 private:
  using Components = std::map<std::uint32_t, std::set<std::int32_t>>;  // by the node that takes elements of a dataset or queue
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
  Components components_read() const;
  void name_outputs(Values);

  ImportContext& c_;
  std::unordered_map<std::uint64_t, Value*> fed_;  // node and output of the main graph
  std::unordered_map<const Value*, std::string> input_tensors_;
  std::vector<bool> needed_;
  std::optional<Components> components_;
  std::vector<Fetch> fetches_;
  std::vector<Tensor> fetched_;
};

}  // namespace t2o::tf
