#pragma once
#include <memory>
#include <string>

#include "engines/tensorflow_api.h"
#include "ir/attr.h"
#include "ir/tensor.h"

// Between t2o::Tensor and TensorFlow's tensors.
namespace t2o::engines::tf_api {

class StatusPtr {
 public:
  explicit StatusPtr(const Api& api) : status_(api.new_status(), api.delete_status) {}
  Status* get() const { return status_.get(); }

 private:
  std::unique_ptr<Status, void (*)(Status*)> status_;
};
void check(const Api& api, const StatusPtr& status,
           const std::string& what);  // throws what TensorFlow complains about

int type_code(DType dtype);    // throws for a type that cannot be fed
DType type_of_code(int code);  // undefined for an unknown one; the _ref types are their plain ones

class OwnedTensor {  // a copy to feed
 public:
  OwnedTensor(const Api& api, const Tensor& tensor);
  OwnedTensor(OwnedTensor&&) noexcept;
  OwnedTensor& operator=(OwnedTensor&&) = delete;
  ~OwnedTensor();
  TensorHandle* get() const { return handle_; }

 private:
  const Api* api_;
  TensorHandle* handle_;
  std::size_t strings_ = 0;
};

using FetchedTensor = std::unique_ptr<TensorHandle, void (*)(TensorHandle*)>;
TensorPtr read_tensor(const Api& api, const TensorHandle* handle, const std::string& name);  // a copy

}  // namespace t2o::engines::tf_api
