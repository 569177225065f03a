// The groups of a pattern and the references to them, for what ECMA-262 and PCRE2 see differently: each round of a
// repeated group forgets what its groups held in the round before; PCRE2 remembers. For ecma_regex.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace sallyport::schema {

// Positions are those in the pattern, in the order of reading.
class EcmaGroups {
 public:
  void open(std::size_t at) {
    spans_.push_back({.around = open_.back(), .begin = at});
    open_.push_back(spans_.size() - 1);
  }
  [[nodiscard]] bool any_open() const { return open_.size() > 1; }
  void close(std::size_t at) {
    spans_[open_.back()].end = at;
    last_closed_ = open_.back();
    open_.pop_back();
  }
  void bar(std::size_t at) {
    bars_.push_back({open_.back(), at});
    spans_[open_.back()].choice = true;
  }
  // The innermost open group captures; without a name, by its number only.
  void captures(std::string_view name) { captures_.push_back({open_.back(), name}); }
  // The group that was closed last is repeated.
  void quantified(std::string_view quantifier) {
    Span& span = spans_[last_closed_];
    span.optional = quantifier.front() == '*' || quantifier.front() == '?' || quantifier.starts_with("{0");
    span.repeated = quantifier != "?" && quantifier != "{0,1}" && quantifier != "{1}";
  }
  void refers(std::size_t at, std::uint64_t number, std::string_view name) {
    references_.push_back({at, number, name});
  }

  // Whether some reference may read what another round has set. After all of the pattern.
  [[nodiscard]] bool reads_another_round() const {
    return std::ranges::any_of(references_, [&](const Reference& reference) {
      const auto found = std::ranges::find_if(captures_, [&](const Capture& capture) {
        const auto number = static_cast<std::uint64_t>(&capture - captures_.data()) + 1;
        return reference.name.empty() ? number == reference.number : capture.name == reference.name;
      });
      return found != captures_.end() && reads_another_round(found->group, reference.at);
    });
  }

 private:
  struct Span {
    std::size_t around = 0;
    std::size_t begin = 0;
    std::size_t end = std::numeric_limits<std::size_t>::max();
    bool choice = false;    // of alternatives
    bool optional = false;  // may be left out
    bool repeated = false;
    [[nodiscard]] bool holds(std::size_t at) const { return begin < at && at < end; }
  };
  struct Capture {
    std::size_t group;
    std::string_view name;
  };
  struct Bar {
    std::size_t group;
    std::size_t at;
  };
  struct Reference {
    std::size_t at;
    std::uint64_t number;
    std::string_view name;
  };

  [[nodiscard]] bool reads_another_round(std::size_t group, std::size_t at) const {
    const bool before = set_before(group, at);
    for (std::size_t id = group; id != 0; id = spans_[id].around) {
      // From outside of a repeated group even a plain one is not sure: PCRE2 lets a last, empty round count.
      if (spans_[id].repeated && !(spans_[id].holds(at) && before)) return true;
    }
    return false;
  }

  // Whether every way to `at` that begins where both stand together has set the group.
  [[nodiscard]] bool set_before(std::size_t id, std::size_t at) const {
    if (spans_[id].end > at) return false;
    std::size_t end = spans_[id].end;
    for (; !spans_[id].holds(at); id = spans_[id].around) {
      const Span& around = spans_[spans_[id].around];
      if (spans_[id].optional || (around.choice && !around.holds(at))) return false;
      end = spans_[id].end;
    }
    return std::ranges::none_of(bars_, [&](const Bar& bar) { return bar.group == id && bar.at > end && bar.at < at; });
  }

  std::vector<Span> spans_{1};  // the pattern itself first
  std::vector<std::size_t> open_{0};
  std::size_t last_closed_ = 0;
  std::vector<Bar> bars_;
  std::vector<Capture> captures_;
  std::vector<Reference> references_;
};

}  // namespace sallyport::schema
