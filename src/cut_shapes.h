#pragma once
#include "op_mappers/conversion_registry.h"
#include "tf/import.h"

namespace t2o {

// Where a frozen graph is cut it does not say what shape is there: it is what the part that is cut off gives, as far as
// that can be mapped. Sizes that are not known stay so.
void learn_cut_shapes(ir::Graph& model, const tf::Interface&, const tf::GraphDef&, const tf::ImportRequest&,
                      const ConversionRegistry&);

}  // namespace t2o
