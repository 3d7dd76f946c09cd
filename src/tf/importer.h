#pragma once
#include <deque>

#include "tf/node_importer.h"
#include "tf/state_effects.h"

namespace t2o::tf {

// Imports a graph: inlines calls and makes subgraphs of branches. Frames stand on a stack of our own, since calls may nest deeply.
class Importer {
 public:
  Importer(const GraphDef&, const ImportRequest&, Diagnostics&);
  Importer(const Importer&) = delete;
  GraphPtr run();
  Interface interface() const { return interface_.describe(states_); }  // of the graph that was run for
  void tell_lost_changes();  // the changes of variables that the graph as it is now does not make

 private:
  GraphPtr import();

  // importer_walk.cpp: the order of things
  void push_frame(Frame);
  void step();
  void expand(Frame&, std::uint32_t node);
  void process(Frame&, std::uint32_t node);
  void give_up(const std::string& why);
  void report_cycle(Frame&, std::uint32_t node);
  void finish_frame();
  void finish_branch(Frame&, const Values& results);
  void deliver(Values);  // the outputs of the node on top of the top frame
  void deliver_failure();

  // importer_calls.cpp: calls and branches
  Body& enter(const std::string& function);
  void begin_call(Frame&, std::uint32_t node, const Values& inputs);
  void begin_control_flow(Frame&, std::uint32_t node, const Values& inputs);
  void begin_branch(Frame&, std::uint32_t node);
  void end_branch(GraphPtr);
  void add_branch_inputs(Frame&, const PendingNode&, bool is_loop);
  void add_own_inputs(Frame&);

  ImportContext c_;
  MainInterface interface_;
  NodeImporter nodes_;
  Labels labels_;
  std::deque<Frame> frames_;
  std::vector<State> states_;
  std::vector<LostChange> lost_changes_;
  std::size_t nodes_made_ = 0;
  std::size_t calls_ = 0;
  bool cycle_reported_ = false, gave_up_ = false;
};

}  // namespace t2o::tf
