#pragma once
#include <google/protobuf/message.h>

#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace t2o::fuzz {

// Changes messages as a careless or hostile writer might: numbers at their ends, names of something else, fields that are
// missing, doubled, swapped, or taken from elsewhere. What is put in comes from the messages that were learned.
class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  void learn(const google::protobuf::Message&);   // must outlive the mutator
  void learn_word(const std::string& field, std::string word) { words_[field].push_back(std::move(word)); }
  void reseed(std::uint64_t seed) { random_.seed(seed); }
  void mutate(google::protobuf::Message&);        // one change
  void damage(std::string& bytes);                // of the file itself: cut off, or some bytes changed
  std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

 private:
  struct Place {
    google::protobuf::Message* message;
    const google::protobuf::FieldDescriptor* field;
  };
  template <class T> const T& any(const std::vector<T>& list) { return list[below(list.size())]; }

  void change_repeated(const Place&);
  void change_one(const Place&, int index);       // -1: not repeated
  std::int64_t odd_integer(std::int64_t now);
  double odd_number(double now);
  std::string odd_word(const Place&, const std::string& now);

  std::mt19937_64 random_;
  std::unordered_map<std::string, std::vector<std::string>> words_;  // by the field's name
  std::unordered_map<const google::protobuf::Descriptor*, std::vector<const google::protobuf::Message*>> messages_;
};

}  // namespace t2o::fuzz
