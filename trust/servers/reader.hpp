// Strict reading of one JSON object of a trust file: every member is known, of its type, and there once. For the
// sources of this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/fault.hpp"
#include "schemas/core/json.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::trust {

// One of a closed list of words, as its index.
using Words = std::initializer_list<std::string_view>;

class ObjectReader {
 public:
  // `what` names the object in messages: "a server", "a case".
  ObjectReader(json::Value value, std::string_view what, FaultList& faults, Words known);
  [[nodiscard]] bool usable() const { return value_.is_object(); }
  [[nodiscard]] json::Value get(std::string_view name) const { return value_.find(name); }

  // Unset and a fault for a wrong type; unset for an absent member.
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;  // not empty
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const;
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view name, std::int64_t low, std::int64_t high) const;
  [[nodiscard]] std::optional<Millis> duration(std::string_view name) const;
  [[nodiscard]] std::optional<std::size_t> word(std::string_view name, Words words) const;
  [[nodiscard]] std::optional<std::vector<std::string>> texts(std::string_view name) const;  // a list of texts
  [[nodiscard]] std::vector<std::string> pointers(std::string_view name) const;              // a list of JSON Pointers
  [[nodiscard]] std::optional<std::string> pointer(std::string_view name) const;

  FaultList& faults() const { return faults_; }
  json::Value value() const { return value_; }

 private:
  json::Value value_;
  FaultList& faults_;
};

// "one of a, b, c".
[[nodiscard]] std::string one_of(Words words);
// Index of the word that the value is, or a fault with the nearest one.
[[nodiscard]] std::optional<std::size_t> read_word(json::Value value, Words words, std::string_view what,
                                                   FaultList& faults);
// Whether the text is a JSON Pointer other than the whole, else a fault.
bool check_pointer(json::Value where, FaultList& faults);

}  // namespace sallyport::trust
