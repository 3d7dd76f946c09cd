#pragma once
#include <map>
#include <memory>
#include <set>

#include "tf/state_effects.h"
#include "tf/variable_access.h"

// The analysis behind follow_state(): state_effects.cpp finds what is needed, state_checks.cpp what cannot be followed.
namespace t2o::tf {

using Keys = std::set<Key>;

// What one body does. Keys of arguments mean something to its callers; those of the model's variables are the same in all bodies.
struct Effects {
  struct Callee {
    Effects* effects;
    bool is_condition;  // of a loop
  };
  Effects(Body& b, VariableNames& names, Accesses::ResultOf result_of) : body(&b), accesses(b, names, std::move(result_of)) {}
  bool is_inside(std::uint32_t n) const { return !inside.empty() && inside[n]; }

  Body* body;
  Accesses accesses;
  std::vector<bool> runs;
  std::vector<bool> inside;             // nodes inside of loops and conditionals of TensorFlow 1; empty: there are none
  std::vector<std::uint32_t> order;     // of the nodes that run, if some body writes variables
  std::map<std::uint32_t, std::vector<Callee>> callees;  // by node
  std::unordered_map<std::uint32_t, Keys> written;  // by node
  std::unordered_map<Key, Keys> aliases;  // a call of the body passes one variable for these and for the key
  Keys globals;  // variables of the model that it or a function that it calls names itself
  Keys writes;   // by it and by functions that it calls
  Keys unkept;   // of them, those with a write that cannot be handed on as a state
  Keys read;     // variables of which the needed nodes read the value that they have before the body runs
  Keys wanted;   // variables of which somebody reads the value that they have after the body has run
};

class StateAnalysis {
 public:
  StateAnalysis(Bodies& bodies, const MainScope& scope, Diagnostics& out)
      : bodies_(&bodies), scope_(&scope), out_(&out), names_(bodies.graph().owner) {}
  StateEffects run();

 private:
  bool is_main(const Body& b) const { return b.signature == nullptr; }
  std::vector<bool>& needed(Body& b) const { return is_main(b) ? *scope_->needed : b.needed; }

  void visit_all();
  std::vector<bool> executed(const Body&) const;
  void resolve_callees(Effects&);
  Key result_of(Effects&, std::uint32_t node, std::size_t output);
  Key key_here(Effects&, std::uint32_t node, Key of_callee);
  std::vector<Access> accesses_of(Effects&, std::uint32_t node);
  const Keys& written_by(const Effects&, std::uint32_t node) const;
  void find_writes(Effects&);
  void find_globals(Effects&);
  void find_aliases(Effects&);
  void settle();
  bool trace(Effects&);
  void trace_access(Effects&, std::uint32_t node, Keys& live);
  bool trace_call(Effects&, std::uint32_t node, Keys& live);
  void need(Body&, std::uint32_t node);
  void find_lost_changes(Effects&);

  // state_checks.cpp
  void check(Effects&);
  void check_handles(Effects&);
  void check_order(Effects&);
  void check_loops(Effects&, const std::vector<std::uint32_t>& writers);
  void check_memory(Effects&);
  void report(const Body&, std::uint32_t node, std::string message, std::string remedy);
  void report_stale(const Body&, std::uint32_t reader, std::uint32_t writer, Key);

  Bodies* bodies_;
  const MainScope* scope_;
  Diagnostics* out_;
  VariableNames names_;
  std::vector<std::unique_ptr<Effects>> all_;  // callees before callers
  std::unordered_map<const Body*, Effects*> of_;
  std::set<std::pair<const Body*, Key>> reported_;
  std::set<std::string> lost_names_;
  StateEffects found_;
};

}  // namespace t2o::tf
