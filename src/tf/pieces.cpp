#include "tf/pieces.h"

#include <iterator>

#include "support/wire.h"
#include "support/wire_writer.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kCopied = 4096;

}  // namespace

void Pieces::add(std::string_view text) {
  if (list_.empty() || !list_.back().bytes.empty() || list_.back().tensor) list_.emplace_back();
  list_.back().text += text;
  size_ += text.size();
}

void Pieces::view(Bytes bytes) {
  if (bytes.size() < kCopied) return add(as_text(bytes));
  list_.push_back({.text = "", .bytes = bytes});
  size_ += bytes.size();
}

void Pieces::weights(TensorPtr tensor) {
  size_ += tensor->byte_size();
  list_.push_back({.text = "", .tensor = std::move(tensor)});
}

void Pieces::field(std::uint32_t number, Pieces content) {
  std::string head;
  append_field_head(head, number, content.size_);
  add(head);
  size_ += content.size_;
  auto first = content.list_.begin();
  if (first == content.list_.end()) return;
  list_.back().text += first->text;  // a text of its own has neither of the others
  list_.back().bytes = first->bytes;
  list_.back().tensor = std::move(first->tensor);
  list_.insert(list_.end(), std::make_move_iterator(first + 1), std::make_move_iterator(content.list_.end()));
}

void Pieces::stream(const Sink& sink) const {
  for (const Piece& p : list_) {
    if (!p.text.empty()) sink(std::as_bytes(std::span(p.text)));
    if (!p.bytes.empty()) sink(p.bytes);
    if (!p.tensor) continue;
    p.tensor->storage()->stream(sink);
    p.tensor->storage()->release();
  }
}

}  // namespace t2o::tf
