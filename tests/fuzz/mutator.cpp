#include "mutator.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace t2o::fuzz {
namespace {

namespace pb = google::protobuf;
using Field = pb::FieldDescriptor;

constexpr std::size_t kLongest = 1 << 16;  // of a word that is remembered

// The elements of a list in an order that is the same in each process, which a map's own is not.
std::vector<int> elements_in_order(const pb::Message& m, const Field* f) {
  const pb::Reflection& r = *m.GetReflection();
  std::vector<int> order(static_cast<std::size_t>(r.FieldSize(m, f)));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  if (!f->is_map()) return order;
  std::vector<std::string> keys;
  const Field* key = f->message_type()->map_key();
  for (const int i : order) {
    const pb::Message& entry = r.GetRepeatedMessage(m, f, i);
    const bool is_word = key->cpp_type() == Field::CPPTYPE_STRING;
    keys.push_back(is_word ? entry.GetReflection()->GetString(entry, key) : std::to_string(entry.GetReflection()->GetUInt32(entry, key)));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) { return keys[static_cast<std::size_t>(a)] < keys[static_cast<std::size_t>(b)]; });
  return order;
}

const pb::Message* inner(const pb::Message* m, const Field* f) { return &m->GetReflection()->GetMessage(*m, f); }
const pb::Message* inner(const pb::Message* m, const Field* f, int i) { return &m->GetReflection()->GetRepeatedMessage(*m, f, i); }
pb::Message* inner(pb::Message* m, const Field* f) { return m->GetReflection()->MutableMessage(m, f); }
pb::Message* inner(pb::Message* m, const Field* f, int i) { return m->GetReflection()->MutableRepeatedMessage(m, f, i); }

// Every field that is set, in the message and in those inside of it. Message: const, or to be changed, which a map has to know.
template <class Message, class Visit>
void walk(Message* root, const Visit& visit) {
  std::vector<Message*> todo = {root};
  while (!todo.empty()) {
    Message* m = todo.back();
    todo.pop_back();
    std::vector<const Field*> fields;
    m->GetReflection()->ListFields(*m, &fields);
    for (const Field* f : fields) {
      visit(m, f);
      if (f->cpp_type() != Field::CPPTYPE_MESSAGE) continue;
      if (!f->is_repeated()) todo.push_back(inner(m, f));
      else for (const int i : elements_in_order(*m, f)) todo.push_back(inner(m, f, i));
    }
  }
}

}  // namespace

void Mutator::learn(const pb::Message& root) {
  messages_[root.GetDescriptor()].push_back(&root);
  walk(&root, [&](const pb::Message* m, const Field* f) {
    const pb::Reflection& r = *m->GetReflection();
    for (const int i : f->is_repeated() ? elements_in_order(*m, f) : std::vector<int>{0}) {
      if (f->cpp_type() == Field::CPPTYPE_STRING) {
        std::string word = f->is_repeated() ? r.GetRepeatedString(*m, f, i) : r.GetString(*m, f);
        if (word.size() < kLongest) words_[f->name()].push_back(std::move(word));
      } else if (f->cpp_type() == Field::CPPTYPE_MESSAGE) {
        messages_[f->message_type()].push_back(f->is_repeated() ? inner(m, f, i) : inner(m, f));
      }
    }
  });
}

void Mutator::mutate(pb::Message& root) {
  std::vector<Place> places;
  walk(&root, [&](pb::Message* m, const Field* f) { places.push_back({m, f}); });
  if (places.empty()) return;
  const Place p = any(places);
  if (below(12) == 0) return p.message->GetReflection()->ClearField(p.message, p.field);
  if (p.field->is_repeated()) return change_repeated(p);
  change_one(p, -1);
}

void Mutator::change_repeated(const Place& p) {
  const pb::Reflection& r = *p.message->GetReflection();
  const int last = r.FieldSize(*p.message, p.field) - 1;
  const int i = any(elements_in_order(*p.message, p.field));
  switch (below(6)) {
    case 0:
      r.SwapElements(p.message, p.field, i, last);
      return r.RemoveLast(p.message, p.field);
    case 1:
      return r.SwapElements(p.message, p.field, i, any(elements_in_order(*p.message, p.field)));
    case 2:
      if (p.field->cpp_type() == Field::CPPTYPE_MESSAGE && !p.field->is_map()) {
        const std::vector<const pb::Message*>& known = messages_[p.field->message_type()];
        if (!known.empty()) return r.AddMessage(p.message, p.field)->CopyFrom(*any(known));
      }
      [[fallthrough]];
    default:
      change_one(p, i);
  }
}

void Mutator::change_one(const Place& p, int i) {
  const pb::Reflection& r = *p.message->GetReflection();
  pb::Message* m = p.message;
  const Field* f = p.field;
  const bool in_list = i >= 0;
  switch (f->cpp_type()) {
    case Field::CPPTYPE_INT32: {
      const auto v = static_cast<std::int32_t>(odd_integer(in_list ? r.GetRepeatedInt32(*m, f, i) : r.GetInt32(*m, f)));
      return in_list ? r.SetRepeatedInt32(m, f, i, v) : r.SetInt32(m, f, v);
    }
    case Field::CPPTYPE_INT64: {
      const std::int64_t v = odd_integer(in_list ? r.GetRepeatedInt64(*m, f, i) : r.GetInt64(*m, f));
      return in_list ? r.SetRepeatedInt64(m, f, i, v) : r.SetInt64(m, f, v);
    }
    case Field::CPPTYPE_UINT32: {
      const auto v = static_cast<std::uint32_t>(odd_integer(0));
      return in_list ? r.SetRepeatedUInt32(m, f, i, v) : r.SetUInt32(m, f, v);
    }
    case Field::CPPTYPE_UINT64: {
      const auto v = static_cast<std::uint64_t>(odd_integer(0));
      return in_list ? r.SetRepeatedUInt64(m, f, i, v) : r.SetUInt64(m, f, v);
    }
    case Field::CPPTYPE_FLOAT: {
      const auto v = static_cast<float>(odd_number(in_list ? r.GetRepeatedFloat(*m, f, i) : r.GetFloat(*m, f)));
      return in_list ? r.SetRepeatedFloat(m, f, i, v) : r.SetFloat(m, f, v);
    }
    case Field::CPPTYPE_DOUBLE: {
      const double v = odd_number(in_list ? r.GetRepeatedDouble(*m, f, i) : r.GetDouble(*m, f));
      return in_list ? r.SetRepeatedDouble(m, f, i, v) : r.SetDouble(m, f, v);
    }
    case Field::CPPTYPE_BOOL: {
      const bool v = below(2) == 0;
      return in_list ? r.SetRepeatedBool(m, f, i, v) : r.SetBool(m, f, v);
    }
    case Field::CPPTYPE_ENUM: {
      const int v = below(10) == 0 ? static_cast<int>(below(1000)) : f->enum_type()->value(static_cast<int>(below(static_cast<std::size_t>(f->enum_type()->value_count()))))->number();
      return in_list ? r.SetRepeatedEnumValue(m, f, i, v) : r.SetEnumValue(m, f, v);
    }
    case Field::CPPTYPE_STRING: {
      const std::string v = odd_word(p, in_list ? r.GetRepeatedString(*m, f, i) : r.GetString(*m, f));
      return in_list ? r.SetRepeatedString(m, f, i, v) : r.SetString(m, f, v);
    }
    case Field::CPPTYPE_MESSAGE: {
      const std::vector<const pb::Message*>& known = messages_[f->message_type()];
      if (known.empty() || f->is_map()) return;
      return (in_list ? r.MutableRepeatedMessage(m, f, i) : r.MutableMessage(m, f))->CopyFrom(*any(known));
    }
  }
}

std::int64_t Mutator::odd_integer(std::int64_t now) {
  static const std::vector<std::int64_t> kOdd = {0, 1, -1, 2, -2, 3, 7, 64, 1000, 65536, std::numeric_limits<std::int32_t>::max(),
                                                 std::numeric_limits<std::int32_t>::min(), std::int64_t{1} << 32, std::int64_t{1} << 40,
                                                 std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  switch (below(4)) {
    case 0:
      return now == std::numeric_limits<std::int64_t>::max() ? now : now + 1;
    case 1:
      return now == std::numeric_limits<std::int64_t>::min() ? now : now - 1;
    default:
      return any(kOdd);
  }
}

double Mutator::odd_number(double now) {
  static const std::vector<double> kOdd = {0, -0.0, 1, -1, 1e-30, 1e30, 1e300, std::numeric_limits<double>::quiet_NaN(),
                                           std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  return below(3) == 0 ? -now : any(kOdd);
}

std::string Mutator::odd_word(const Place& p, const std::string& now) {
  const std::vector<std::string>& known = words_[p.field->name()];
  switch (below(8)) {
    case 0:
      return now.substr(0, below(now.size() + 1));
    case 1: {
      std::string word = now;
      damage(word);
      return word;
    }
    case 2:
      return p.field->name() == "input" ? "^" + now : p.field->name() == "name" ? any(words_["op"]) : "";
    case 3:
      return p.field->name() == "input" ? now.substr(0, now.find(':')) + ":" + std::to_string(odd_integer(0)) : now + now;
    default:
      if (p.field->name() == "input" && below(2) == 0 && !words_["name"].empty()) return any(words_["name"]);
      return known.empty() ? now : any(known);
  }
}

void Mutator::damage(std::string& bytes) {
  if (bytes.empty()) return;
  if (below(3) == 0) return bytes.resize(below(bytes.size()));
  for (std::size_t n = 1 + below(4); n > 0; --n) bytes[below(bytes.size())] = static_cast<char>(below(256));
}

}  // namespace t2o::fuzz
