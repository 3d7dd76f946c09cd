#pragma once
#include <map>
#include <string>
#include <vector>

#include "ir/tensor.h"
#include "tf/attr_value.h"

namespace t2o::tf {

struct SignatureTensor {
  std::string
      key;  // the name a user knows; the parts of a sparse or composite tensor are "key/values", "key/0" ...
  std::string tensor;  // the name in the graph: "serving_default_x:0"
  DType dtype = DType::undefined;
  Shape shape;
  Strings dim_names;   // by axis, "" where there is none; may be empty
  TensorPtr fallback;  // of an input that may be left out; null when it may not
};

struct Signature {
  std::string name;
  std::vector<SignatureTensor> inputs, outputs;  // by key
};

struct Asset {
  std::string tensor, filename;  // the graph tensor that holds the path at run time; the file below assets/
};

// A MetaGraphDef. The big parts stay serialized, as views that `owner` keeps alive.
struct MetaGraph {
  Owner owner;
  Bytes graph_def, op_list, object_graph;
  std::map<std::string, Bytes, std::less<>> collections;  // CollectionDef by key
  Strings tags;
  std::string tensorflow_version;
  std::string restore_op;             // of the saver; empty when there is none
  std::vector<Signature> signatures;  // by name
  std::vector<Asset> assets;
};

MetaGraph parse_meta_graph(Bytes, const Owner&);

}  // namespace t2o::tf
