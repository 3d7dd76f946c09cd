#include "op_mappers/refusals.h"

#include <algorithm>
#include <vector>

namespace t2o {
namespace {

struct Kind {
  std::vector<std::string_view> ops;  // "Apply*", "*Grad": those that begin or end so
  std::string_view why, remedy;
};

// Made when something is refused, not at the start of each run.
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table = {
      {{"PyFunc", "PyFuncStateless", "EagerPyFunc"},
       "it is a Python function, which is not in the model",
       "write it with TensorFlow's own operations before the export | {cut}"},
      {{"ImmutableConst"},
       "its value is in a file that the graph was made to be mapped with",
       "use the graph from before convert_graphdef_memmapped_format, with constants"},
      {{"GenerateBoundingBoxProposals"},
       "TensorFlow itself computes it on GPUs alone",
       "put it together from NonMaxSuppression and TopK | {cut}"},
      {{"Eig"},
       "it needs a decomposition of a matrix that ends when its numbers say so, for which ONNX has no "
       "operator",
       "compute it before the export if its input is constant | {cut}"},
      {{"StatelessRandomGammaV2", "StatelessRandomGammaV3", "StatelessRandomPoisson",
        "StatelessRandomBinomial", "StatelessParameterizedTruncatedNormal",
        "StatelessSampleDistortedBoundingBox"},
       "the count of the random numbers that it draws depends on their values, so the seed does not tell its "
       "results",
       "draw them outside of the model: {cut after}"},
      {{"ReadFile", "WriteFile", "MatchingFiles", "*Reader", "*ReaderV2", "ReaderRead*", "RecordInput"},
       "it reads or writes files",
       "use their contents as an input: {cut after}"},
      {{"*Dataset", "*DatasetV2", "*DatasetV3", "*DatasetV4", "Iterator*", "OneShotIterator", "MakeIterator",
        "AnonymousIterator*", "MultiDeviceIterator*", "*Queue", "*QueueV2", "Queue*", "Barrier*", "Stage",
        "*Unstage", "Unstage*"},
       "it belongs to an input pipeline, which is not part of a model",
       "{cut after}"},
      {{"XlaSelfAdjointEig", "XlaSvd"}, "this decomposition has no ONNX form", "{cut}"},
      {{"XlaRngBitGenerator"},
       "the random numbers of XLA's generator have no ONNX form",
       "give the random numbers as an input: {cut after}"},
      {{"XlaCustomCall*"}, "it calls a function that XLA has at run time, which no model holds", "{cut}"},
      {{"XlaRecv", "XlaRecvFromHost", "XlaHostCompute"},
       "it talks to the host while the model runs, which ONNX cannot express",
       "{cut}"},
      {{"XlaAllReduce", "XlaReduceScatter"},
       "it talks to other devices, which ONNX cannot express",
       "export the model for one device"},
      {{"XlaCallModule"},
       "it contains a StableHLO program instead of TensorFlow ops",
       "export it with jax2tf.convert(..., native_serialization=False), which jax before 0.7 has"},
      {{"Send", "Recv", "_Send", "_Recv", "_HostSend", "_HostRecv", "Collective*", "Nccl*", "RemoteCall",
        "TPU*", "Infeed*", "Outfeed*", "CrossReplicaSum", "AllToAll", "ConfigureDistributedTPU",
        "ShutdownDistributedTPU"},
       "it talks to other devices",
       "export the model for one device"},
      {{"*Grad", "*GradV2", "*GradV3", "*GradGrad", "*BackpropFilter", "*BackpropFilterV2", "Apply*",
        "SparseApply*", "ResourceApply*", "ResourceSparseApply*", "*CandidateSampler", "Sdca*",
        "*Accumulator*"},
       "it belongs to training",
       "export the model for inference | {cut}"},
  };
  return table;
}

bool fits(std::string_view op, std::string_view pattern) {
  if (pattern.ends_with('*') && pattern.starts_with('*'))
    return op.find(pattern.substr(1, pattern.size() - 2)) != std::string_view::npos;
  if (pattern.ends_with('*')) return op.starts_with(pattern.substr(0, pattern.size() - 1));
  if (pattern.starts_with('*')) return op.ends_with(pattern.substr(1));
  return op == pattern;
}

}  // namespace

Refusal refusal_of(std::string_view op) {
  for (const Kind& k : kinds())
    if (std::ranges::any_of(k.ops, [&](std::string_view p) { return fits(op, p); }))
      return {std::string(k.why), std::string(k.remedy)};
  return {"this operation is not supported", "{cut} | {custom op}"};
}

}  // namespace t2o
