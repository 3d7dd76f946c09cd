#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rewriters/pattern.h"

namespace t2o {

// A rewriter runs after another one of its phase. `why` names the nodes that both would take, or what the other one
// prepares.
struct After {
  std::string rewriter, why;
};

struct Step {
  Rewriter rewriter;
  std::vector<After> after = {};
};

// A phase takes the graph from one state to another. Its steps run once each. They may run in any order that `after` allows, with
// the same result; the table in all.cpp lists them in the order in which they run. When the phase has ended, none of its rewriters
// finds anything more to do.
struct Phase {
  std::string name;
  std::string begins;                 // what holds when the phase begins
  std::string ends;                   // what holds when it has ended
  std::vector<Step> steps;
  std::vector<Rewriter> settled = {};  // run last, in turn, until none finds more to do
};

struct PhaseOptions {
  std::vector<std::string> without = {};               // rewriters that are left out
  std::vector<std::string> order = {};                // "phase/rewriter": another order of the steps; the others come behind these
  bool check = false;                                 // throws std::logic_error when a phase breaks its contract
  std::function<void(const std::string&, int)> after = {};  // called with the name of each rewriter that has run, and how often it changed the graph
};

// Runs the rewriters that have something to look for, on the graph and on the graphs inside of it, the inner ones first.
void run_phases(const std::vector<Phase>&, ir::Graph&, const PhaseOptions& = {});

// Throws std::logic_error when a phase lists a rewriter twice, or one in front of another that it runs after.
void check_phases(const std::vector<Phase>&);

// Whether a rewriter goes by the shapes of a node's inputs (Rewriter::reads_shapes_of) of which the rank is unknown.
bool lacks_shapes(const std::vector<Phase>&, const ir::Graph&);

std::vector<Rewriter> rewriters_of(const std::vector<Phase>&);  // each once, in the order of the phases

}  // namespace t2o
