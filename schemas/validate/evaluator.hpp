// Judges one instance by a Program: once quickly, and once more for the faults if it is not valid. For this folder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/validate/program.hpp"

namespace sallyport::schema {

// Which members or elements of one container some keyword has judged; for unevaluatedProperties and unevaluatedItems.
class Marks {
 public:
  void set_all() { all_ = true; }
  void set_prefix(std::uint64_t count) { prefix_ = std::max(prefix_, count); }
  void set(std::size_t place) {
    if (place < 64) {
      low_ |= std::uint64_t{1} << place;
      return;
    }
    if (place / 64 > high_.size()) high_.resize(place / 64, 0);
    high_[place / 64 - 1] |= std::uint64_t{1} << (place % 64);
  }
  [[nodiscard]] bool test(std::size_t place) const {
    if (all_ || place < prefix_) return true;
    if (place < 64) return (low_ >> place & 1U) != 0;
    return place / 64 <= high_.size() && (high_[place / 64 - 1] >> (place % 64) & 1U) != 0;
  }
  // Whether all of the first `count` places are set.
  [[nodiscard]] bool all_below(std::size_t count) const {
    if (count < 64) return (low_ & ((std::uint64_t{1} << count) - 1)) == (std::uint64_t{1} << count) - 1;
    for (std::size_t place = 0; place < count; ++place) {
      if (!test(place)) return false;
    }
    return true;
  }
  void add(const Marks& other) {
    all_ |= other.all_;
    set_prefix(other.prefix_);
    low_ |= other.low_;
    if (high_.size() < other.high_.size()) high_.resize(other.high_.size(), 0);
    for (std::size_t i = 0; i < other.high_.size(); ++i) high_[i] |= other.high_[i];
  }
  [[nodiscard]] bool all() const { return all_; }

 private:
  bool all_ = false;
  std::uint64_t prefix_ = 0;
  std::uint64_t low_ = 0;
  std::vector<std::uint64_t> high_;
};

// A fault before it is put into words: where, by which keyword of which subschema, and what the words need.
struct RawFault {
  SubId sub = 0;
  Keyword keyword = Keyword::limit;
  json::Value at;
  std::string text;        // a missing or unknown member's name, a reason
  std::string_view other;  // a name of the schema
  std::uint64_t a = 0;     // a place, a count, the closest branch (from 1)
  std::uint64_t b = 0;
};

class Evaluator {
 public:
  enum class Stop : std::uint8_t { none, steps, depth, pattern, number, lookalike };
  static constexpr std::size_t kMaxFaults = 20;

  explicit Evaluator(const Program& program) : program_(program) {}

  // Stops at the first fault.
  bool quick(json::Value instance);
  // Goes on; the faults are in faults() and lookalikes().
  bool collect(json::Value instance);

  [[nodiscard]] Stop stopped() const { return stop_; }
  [[nodiscard]] json::Value stopped_at() const { return stop_at_; }
  [[nodiscard]] SubId stopped_sub() const { return stop_sub_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] const std::vector<RawFault>& faults() const { return faults_; }
  [[nodiscard]] const std::vector<RawFault>& lookalikes() const { return lookalikes_; }

 private:
  // The resources entered on the way, innermost first; for $dynamicRef and $recursiveRef.
  struct Scope {
    std::uint32_t resource;
    const Scope* outer;
  };
  using Sink = std::vector<RawFault>;

  bool enter(SubId id, json::Value value);               // a new place of the instance
  bool eval(SubId id, json::Value value, Marks* marks);  // the same place, by one more subschema
  bool eval_scoped(const Sub& sub, json::Value value, Marks* marks);
  bool eval_marking(const Sub& sub, json::Value value, Marks* marks);
  bool eval_keywords(const Sub& sub, json::Value value, Marks* marks);
  bool type(const Sub& sub, json::Value value);
  bool instruction(const Sub& sub, const Instruction& instruction, json::Value value, Marks* marks);
  bool dynamic_ref(const DynamicPart& part, json::Value value, Marks* marks);
  bool all_of(const Instruction& instruction, json::Value value, Marks* marks);
  bool any_of(const Sub& sub, const Instruction& instruction, json::Value value, Marks* marks);
  bool one_of(const Sub& sub, const Instruction& instruction, json::Value value, Marks* marks);
  bool if_then_else(const Instruction& instruction, json::Value value, Marks* marks);
  bool silent(SubId id, json::Value value, Marks* marks);
  bool branch(SubId id, json::Value value, Marks* marks, Sink& faults);
  std::uint64_t branches(const Instruction& instruction, json::Value value, Marks* marks, std::uint64_t enough,
                         std::string& matched);
  void closest_branch(const Sub& sub, const Instruction& instruction, json::Value value);
  bool enumeration(const EnumPart& part, json::Value value);

  bool number(const Sub& sub, const NumberPart& part, json::Value value);
  bool string(const Sub& sub, const StringPart& part, json::Value value);
  bool array(const Sub& sub, const ArrayPart& part, json::Value value, Marks* marks);
  bool elements(const Sub& sub, const ArrayPart& part, json::Value value);
  bool contains(const Sub& sub, const ArrayPart& part, json::Value value, Marks* marks);
  bool unique(const Sub& sub, json::Value value);
  bool object(const Sub& sub, const ObjectPart& part, json::Value value, Marks* marks);
  bool member(const Sub& sub, const ObjectPart& part, json::Value value, std::string_view name, SubId known,
              bool& covered);
  bool required(const Sub& sub, const ObjectPart& part, json::Value value, const Marks& seen);
  bool dependents(const Sub& sub, const ObjectPart& part, json::Value value, Marks* marks);
  bool property_name(const Sub& sub, const ObjectPart& part, const json::Member& member, std::string_view name);
  bool unevaluated_items(const Sub& sub, json::Value value, const Marks& marks);
  bool unevaluated_properties(const Sub& sub, json::Value value, const Marks& marks);
  bool check_lookalikes(const Sub& sub, json::Value value);
  bool matches(std::uint32_t pattern, std::string_view text, json::Value at);

  // Counts work; false when there is none left.
  bool step(std::uint64_t count = 1) {
    steps_ += count;
    if (steps_ <= program_.steps) return true;
    stop(Stop::steps);
    return false;
  }
  void stop(Stop reason) {
    if (stop_ == Stop::none) stop_ = reason;
  }
  // Notes a fault and says whether to go on.
  bool fault(const Sub& sub, Keyword keyword, json::Value at, std::string_view text = {}, std::uint64_t a = 0,
             std::uint64_t b = 0);
  [[nodiscard]] SubId id_of(const Sub& sub) const { return static_cast<SubId>(&sub - program_.subs.data()); }
  [[nodiscard]] bool only_value(SubId id) const;  // an `enum` of one value is a `const`
  [[nodiscard]] std::uint32_t closeness(const Sink& faults, json::Value at) const;

  const Program& program_;
  std::uint64_t steps_ = 0;
  std::uint32_t frames_ = 0;
  const Scope* scope_ = nullptr;
  Sink* sink_ = nullptr;  // null: nobody listens, so stop early
  bool collecting_ = false;
  Stop stop_ = Stop::none;
  json::Value stop_at_;
  SubId stop_sub_ = 0;
  Matcher matcher_;
  std::vector<RawFault> faults_;
  std::vector<RawFault> lookalikes_;
};

// A member's name, decoded only if it stands escaped.
class NameText {
 public:
  explicit NameText(json::Value key) : plain_(key.plain_string()) {
    if (!plain_) decoded_ = key.string();
  }
  [[nodiscard]] std::string_view view() const { return plain_ ? *plain_ : std::string_view(decoded_); }

 private:
  std::optional<std::string_view> plain_;
  std::string decoded_;
};

}  // namespace sallyport::schema
