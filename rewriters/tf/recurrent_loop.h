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
  bool last_only = false;  // the list keeps only the last output, as its single item
  std::vector<Columns> residual = {};  // summands of the outputs of rows that take part
};

// A loop over time that only runs recurrent cells.
struct RecurrentLoop {
  ir::Node* node;
  Loop loop;
  StepMask mask;
  std::vector<State> states;
  std::vector<Cell> cells;  // a cell comes after the cells whose outputs it reads
  std::vector<Written> written;

  // The source of a cell's input: rows outside of the loop, or the outputs of another cell.
  struct Source {
    Value* rows = nullptr;
    std::size_t cell = 0;
  };
  std::optional<Source> source(const Columns& operand) const;

  struct Sum {
    Columns whole;
    std::vector<Columns> addends;  // each of a source
  };
  std::vector<Sum> sums;  // the sums that cells read, as after a ResidualWrapper
  std::vector<Columns> addends(const Columns& operand) const;
};

// Empty if it does not recognize some part of the loop; `why` names that part.
std::optional<RecurrentLoop> find_recurrent_loop(ir::Node& n, std::string& why);

}  // namespace t2o::rewriters
