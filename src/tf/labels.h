#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "support/hash_set.h"
#include "tf/body.h"

namespace t2o::tf {

// The labels of the nodes of one body: their paths as the author of the model wrote them. Names in the ONNX file begin with them.
struct BodyLabels {
  std::string prefix = {};  // of all labels
  std::string kept = {};    // the prefix of the nodes that another call has, too: with the call's own name
  std::string scope = {};   // the path of the node that calls the body; the names in the body may repeat it
  std::unordered_map<std::uint32_t, std::string> others = {};  // of the nodes whose labels have another form
  bool are_names = false;       // the labels are the names of the nodes
  bool has_made_up = true;      // some of the names may have levels that are made up

  std::string of(std::string_view name) const;
  std::string_view of(std::string_view name, std::string& room) const;  // of `name` or of `room`
  std::string of(const Body&, std::uint32_t node) const;
  BodyLabels of_call(std::string_view node) const;
  BodyLabels of_branch(const Body&, std::uint32_t node, const std::string& role) const;
};

// Knows the labels of all calls of an import, so that no two nodes get one label.
class Labels {
 public:
  void settle(BodyLabels&, const Body&, bool has_calls);

 private:
  struct Entry;
  struct Group;
  void settle(BodyLabels&, Group&);
  std::string unique(const std::string& label);

  HashSet taken_;
  std::unordered_map<std::string, int> last_number_;
};

}  // namespace t2o::tf
