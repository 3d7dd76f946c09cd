#include "tflite/model.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "diagnostics.h"
#include "support/mapped_file.h"
#include "support/wire.h"

namespace t2o::tflite {
namespace {

constexpr unsigned kMostTables = 4'000'000;  // of one flatbuffer; big language models have some 100,000
constexpr unsigned kDeepest = 32;            // the format nests five deep
constexpr std::size_t kMostReferences = std::size_t{1} << 26;  // of operators to tensors
constexpr int kHighestRank = 64;
constexpr std::size_t kLargestFlatbuffer = (std::size_t{1} << 31) - 2;  // its offsets are signed

struct AlignedCopy {
  explicit AlignedCopy(Bytes b)
      : words((b.size() + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t)) {
    if (!b.empty()) std::memcpy(words.data(), b.data(), b.size());
  }
  std::vector<std::max_align_t> words;
};

[[noreturn]] void refuse(const std::string& what) {
  fail_reading(what, "check that the file was copied completely");
}

const std::uint8_t* at(Bytes b) { return reinterpret_cast<const std::uint8_t*>(b.data()); }

// Checks what the flatbuffer's own verifier does not: numbers that stand for something.
class Checker {
 public:
  explicit Checker(const schema::Model& model) : model_(model), buffers_(count(model.buffers())) {}

  void run() {
    if (count(model_.subgraphs()) == 0) refuse("there is no subgraph in it");
    for (const schema::SubGraph* g : *model_.subgraphs()) check(*g);
    if (!model_.signature_defs()) return;
    for (const schema::SignatureDef* s : *model_.signature_defs()) check(*s);
  }

 private:
  void check(const schema::SubGraph& g) {
    tensors_ = count(g.tensors());
    indices(g.inputs(), 0, "an input of a subgraph");
    indices(g.outputs(), 0, "an output of a subgraph");
    for (unsigned i = 0; i < tensors_; ++i) check(*g.tensors()->Get(i));
    for (unsigned i = 0; i < count(g.operators()); ++i) check(*g.operators()->Get(i));
  }

  void check(const schema::Tensor& t) const {
    if (count(t.shape()) > kHighestRank) refuse("a tensor has " + std::to_string(count(t.shape())) + " axes");
    if (count(t.shape_signature()) > kHighestRank) refuse("a tensor has too many axes");
    if (t.buffer() != 0 && t.buffer() >= buffers_)
      refuse("a tensor has its data in buffer " + std::to_string(t.buffer()) + ", and there are " +
             std::to_string(buffers_));
  }

  void check(const schema::Operator& o) {
    if (o.opcode_index() >= count(model_.operator_codes()))
      refuse("an operator is number " + std::to_string(o.opcode_index()) + " of a table of " +
             std::to_string(count(model_.operator_codes())));
    indices(o.inputs(), -1, "an input of an operator");
    indices(o.outputs(), 0, "an output of an operator");
    indices(o.intermediates(), -1, "an intermediate of an operator");
  }

  void check(const schema::SignatureDef& s) {
    if (s.subgraph_index() >= model_.subgraphs()->size())
      refuse("a signature is of a subgraph that is not there");
    tensors_ = count(model_.subgraphs()->Get(s.subgraph_index())->tensors());
    for (const auto* list : {s.inputs(), s.outputs()})
      for (unsigned i = 0; i < count(list); ++i)
        if (list->Get(i)->tensor_index() >= tensors_) refuse("a signature names a tensor that is not there");
  }

  void indices(const flatbuffers::Vector<std::int32_t>* list, std::int32_t lowest, const char* what) {
    references_ += count(list);
    if (references_ > kMostReferences) refuse("its operators read too many tensors");
    for (const std::int32_t i : items(list))
      if (i < lowest || (i >= 0 && static_cast<std::size_t>(i) >= tensors_))
        refuse(std::string(what) + " is tensor " + std::to_string(i) + ", and there are " +
               std::to_string(tensors_));
  }

  const schema::Model& model_;
  const std::size_t buffers_;
  std::size_t tensors_ = 0, references_ = 0;
};

ModelSignature::Tensor interface_tensor(const Model& m, std::size_t subgraph, std::int64_t i,
                                        std::string key) {
  const schema::Tensor& t = m.tensor(subgraph, i);
  std::string name = m.tensor_name(subgraph, i);
  if (key.empty()) key = name;
  return {std::move(key), std::move(name), m.dtype(t), m.shape(t), {}};
}

}  // namespace

std::string text(const flatbuffers::String* s) { return s ? s->str() : std::string(); }

std::shared_ptr<const Model> Model::open(const std::string& path) {
  const MappedFilePtr file = MappedFile::open(path);
  return std::shared_ptr<const Model>(new Model(path, file->bytes(), file));
}

std::shared_ptr<const Model> Model::of_bytes(Bytes bytes, Owner owner) {
  const std::string path = "the model in memory";
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::max_align_t) == 0)
    return std::shared_ptr<const Model>(new Model(path, bytes, std::move(owner)));
  const auto copy = std::make_shared<const AlignedCopy>(bytes);
  const Bytes aligned = std::as_bytes(std::span(copy->words)).first(bytes.size());
  return std::shared_ptr<const Model>(new Model(path, aligned, copy));
}

Model::Model(std::string path, Bytes bytes, Owner owner)
    : path_(std::move(path)), bytes_(bytes), owner_(std::move(owner)) {
  if (bytes_.size() < 8) refuse("it is too short");
  const std::size_t size = std::min(bytes_.size(), kLargestFlatbuffer);
  flatbuffers::Verifier verifier(at(bytes_), size, kDeepest, kMostTables);
  if (!schema::ModelBufferHasIdentifier(at(bytes_)))
    refuse("it does not have the mark TFL3 of a TensorFlow Lite model");
  if (!schema::VerifyModelBuffer(verifier)) refuse("its structure is damaged");
  root_ = schema::GetModel(at(bytes_));
  check();
  read_signatures();
}

void Model::check() const { Checker(*root_).run(); }

void Model::read_signatures() {
  std::set<std::string> names;
  for (unsigned i = 0; i < count(root_->signature_defs()); ++i) {
    const schema::SignatureDef& s = *root_->signature_defs()->Get(i);
    ModelSignature to{text(s.signature_key()), {}, {}};
    if (!names.insert(to.name).second) refuse("two signatures have the name '" + to.name + "'");
    for (unsigned k = 0; k < count(s.inputs()); ++k)
      to.inputs.push_back(interface_tensor(*this, s.subgraph_index(), s.inputs()->Get(k)->tensor_index(),
                                           text(s.inputs()->Get(k)->name())));
    for (unsigned k = 0; k < count(s.outputs()); ++k)
      to.outputs.push_back(interface_tensor(*this, s.subgraph_index(), s.outputs()->Get(k)->tensor_index(),
                                            text(s.outputs()->Get(k)->name())));
    signatures_.push_back(std::move(to));
    signature_subgraphs_.push_back(s.subgraph_index());
  }
}

std::int64_t Model::signature_tensor(std::size_t i, bool input, std::size_t k) const {
  const schema::SignatureDef& s = *root_->signature_defs()->Get(static_cast<unsigned>(i));
  return (input ? s.inputs() : s.outputs())->Get(static_cast<unsigned>(k))->tensor_index();
}

std::string Model::tensor_name(std::size_t subgraph_index, std::int64_t i) const {
  const std::string name = text(tensor(subgraph_index, i).name());
  return name.empty() ? "tensor_" + std::to_string(i) : name;
}

std::string Model::subgraph_name(std::size_t i) const {
  const std::string name = text(subgraph(i).name());
  return name.empty() ? "subgraph_" + std::to_string(i) : name;
}

// A file of an old version has the code in the first field alone, which ends at 127.
schema::BuiltinOperator Model::builtin(const schema::Operator& o) const {
  const schema::OperatorCode& code = *root_->operator_codes()->Get(o.opcode_index());
  const auto old = static_cast<schema::BuiltinOperator>(code.deprecated_builtin_code());
  return std::max(old, code.builtin_code());
}

std::string Model::custom_name(const schema::Operator& o) const {
  return text(root_->operator_codes()->Get(o.opcode_index())->custom_code());
}

std::string Model::op_name(const schema::Operator& o) const {
  const schema::BuiltinOperator code = builtin(o);
  if (code == schema::BuiltinOperator::CUSTOM) {
    const std::string name = custom_name(o);
    return name.empty() ? "CUSTOM" : name;
  }
  const std::string_view name = builtin_name(code);
  return name.empty() ? "operator number " + std::to_string(static_cast<int>(code)) : std::string(name);
}

std::string_view builtin_name(schema::BuiltinOperator code) { return schema::EnumNameBuiltinOperator(code); }

Shape Model::shape(const schema::Tensor& t) const {
  const auto stated = items(t.shape()), with_unknown = items(t.shape_signature());
  const auto dims = with_unknown.size() == stated.size() ? with_unknown : stated;
  Ints result;
  for (const std::int32_t d : dims) result.push_back(d < 0 ? kUnknownDim : d);
  return Shape(std::move(result));
}

Model::Data Model::data(const schema::Tensor& t) const {
  if (t.external_buffer() != 0) return external_data(t);
  if (t.buffer() == 0 && count(root_->buffers()) == 0) return {};
  const schema::Buffer& b = *root_->buffers()->Get(t.buffer());
  if (b.offset() > 1) {  // beyond the flatbuffer, whose offsets end at 2 GB
    if (b.offset() > bytes_.size() || b.size() > bytes_.size() - b.offset())
      refuse("the data of '" + text(t.name()) + "' end beyond the file");
    return {bytes_.subspan(b.offset(), b.size()), owner_};
  }
  return {std::as_bytes(items(b.data())), owner_};
}

bool Model::has_data(const schema::Tensor& t) const { return !data(t).bytes.empty(); }

}  // namespace t2o::tflite
