#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnostics.h"
#include "formats/source.h"
#include "ir/tensor.h"
#include "support/mapped_file.h"
#include "tflite/schema_generated.h"

// A TensorFlow Lite file: a flatbuffer with subgraphs of operators and tensors, and with the bytes of constants.
namespace t2o::tflite {

template <class T> std::span<const T> items(const flatbuffers::Vector<T>* v) {  // of numbers; their alignment is verified
  return v ? std::span<const T>(v->data(), v->size()) : std::span<const T>();
}
template <class T> std::size_t count(const flatbuffers::Vector<T>* v) { return v ? v->size() : 0; }
std::string text(const flatbuffers::String*);

// How the codes of a tensor stand for numbers: number = scale * (code - zero point).
struct Quantization {
  Floats scales;
  Ints zero_points;         // as many as scales
  std::int64_t axis = 0;    // of the scales, if there are several
  bool is_per_tensor() const { return scales.size() == 1; }
  bool operator==(const Quantization&) const = default;
};

DType dtype_of(schema::TensorType);  // undefined: there is no such type
std::string_view builtin_name(schema::BuiltinOperator);  // "CONV_2D"

class Model {
 public:
  static std::shared_ptr<const Model> open(const std::string& path);
  static std::shared_ptr<const Model> of_bytes(Bytes, Owner);  // they need not be aligned

  // All indices and names in it are checked: they are in range, or -1 where an input may be missing.
  const schema::Model& root() const { return *root_; }
  std::size_t subgraph_count() const { return root_->subgraphs()->size(); }
  const schema::SubGraph& subgraph(std::size_t i) const { return *root_->subgraphs()->Get(static_cast<unsigned>(i)); }
  const schema::Tensor& tensor(std::size_t subgraph_index, std::int64_t i) const {  // refuses one that is missing
    if (i < 0) fail(Code::bad_model, "an input is missing that it needs");
    return *subgraph(subgraph_index).tensors()->Get(static_cast<unsigned>(i));
  }
  std::string tensor_name(std::size_t subgraph_index, std::int64_t i) const;  // its own; or one made of its number
  std::string subgraph_name(std::size_t i) const;                                 // "main"; or one made of its number
  schema::BuiltinOperator builtin(const schema::Operator&) const;
  std::string op_name(const schema::Operator&) const;  // "CONV_2D"; of a custom operator its own
  std::string custom_name(const schema::Operator&) const;

  DType dtype(const schema::Tensor& t) const { return tflite::dtype_of(t.type()); }
  Shape shape(const schema::Tensor&) const;            // with unknown sizes
  bool has_data(const schema::Tensor&) const;
  Strings weight_files() const;  // beside the model; those that constants were read from
  TensorPtr constant(const schema::Tensor&) const;     // null: it is no constant
  std::optional<Quantization> quantization(const schema::Tensor&) const;  // of integers; none: its integers are numbers

  const std::vector<ModelSignature>& signatures() const { return signatures_; }
  std::size_t subgraph_of_signature(std::size_t i) const { return signature_subgraphs_[i]; }
  std::int64_t signature_tensor(std::size_t i, bool input, std::size_t k) const;  // its number; names may not be unique
  const std::string& path() const { return path_; }
  const Owner& owner() const { return owner_; }  // of all bytes

 private:
  Model(std::string path, Bytes bytes, Owner owner);
  void check() const;
  void read_signatures();
  struct Data {
    Bytes bytes;
    Owner owner;
  };
  Data data(const schema::Tensor&) const;
  Data external_data(const schema::Tensor&) const;

  std::string path_;
  Bytes bytes_;
  Owner owner_;
  const schema::Model* root_ = nullptr;
  mutable std::map<std::string, MappedFilePtr> weight_files_;  // by path; opened when a constant is read
  std::vector<ModelSignature> signatures_;
  std::vector<std::size_t> signature_subgraphs_;
};
using ModelPtr = std::shared_ptr<const Model>;

// The dense bytes of a tensor whose file form leaves out zeros. `values` are those that are stored.
StoragePtr densified(const schema::SparsityParameters&, const Ints& dims, DType, StoragePtr values);

}  // namespace t2o::tflite
