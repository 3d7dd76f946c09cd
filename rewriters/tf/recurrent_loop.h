#pragma once
#include <optional>
#include <string>
#include <vector>

#include "rewriters/tf/cells.h"

namespace t2o::rewriters {

using tfgraph::Past;
using tfgraph::RecurrentLayer;

struct Written {  // a list that the loop fills with the outputs of a cell
  std::size_t variable, cell;
  Past past = Past::zero;
  bool last_only = false;  // only the last is kept, as the list's single item
  std::vector<Columns> residual = {};  // what is added to the outputs of rows that take part
};

// A loop over time that does nothing but run recurrent cells.
struct RecurrentLoop {
  ir::Node* node;
  Loop loop;
  StepMask mask;
  std::vector<State> states;
  std::vector<Cell> cells;  // a cell stands behind those whose outputs it reads
  std::vector<Written> written;

  // Where an input of a cell comes from: rows around the loop, or the outputs of another cell.
  struct Source {
    Value* rows = nullptr;
    std::size_t cell = 0;
  };
  std::optional<Source> source(const Columns& operand) const;

  struct Sum {
    Columns whole;
    std::vector<Columns> addends;  // each of a source
  };
  std::vector<Sum> sums;  // that cells read, as those behind a ResidualWrapper do
  std::vector<Columns> addends(const Columns& operand) const;
};

// Nothing when some part of it is not understood; `why` says which.
std::optional<RecurrentLoop> find_recurrent_loop(ir::Node& n, std::string& why);

}  // namespace t2o::rewriters
