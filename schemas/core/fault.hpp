// Faults of a file that a person wrote: all at once, each with its place and a remedy (design section 4).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "schemas/core/json.hpp"

namespace sallyport {

struct Fault {
  enum class Level : std::uint8_t { error, warning, note };
  Level level = Level::error;
  std::string file;         // empty: inline
  json::Position position;  // line 0: the file as a whole
  std::string pointer;      // RFC 6901
  std::string message;      // what is wrong, then what to do
};

using Faults = std::vector<Fault>;

[[nodiscard]] bool has_errors(const Faults& faults);
[[nodiscard]] std::string to_text(const Fault& fault);  // `file:line:column: error: message`

// Collects faults for one file; position and pointer come from the value that is at fault. An absent value means the
// file as a whole. Of each level the first kMost are kept, and then one that says so: a file of nothing but faults
// costs no more.
class FaultList {
 public:
  static constexpr std::size_t kMost = 2000;
  explicit FaultList(std::string file) : file_(std::move(file)) {}
  void error(json::Value where, std::string message) { add(Fault::Level::error, where, std::move(message)); }
  void warning(json::Value where, std::string message) { add(Fault::Level::warning, where, std::move(message)); }
  void note(json::Value where, std::string message) { add(Fault::Level::note, where, std::move(message)); }
  [[nodiscard]] const Faults& all() const { return faults_; }
  [[nodiscard]] Faults take() { return std::move(faults_); }
  [[nodiscard]] bool ok() const { return !has_errors(faults_); }
  [[nodiscard]] std::size_t errors() const { return counts_[0]; }  // those that were not kept too
  [[nodiscard]] bool full() const { return errors() >= kMost; }    // more errors change nothing

 private:
  void add(Fault::Level level, json::Value where, std::string message);
  std::string file_;
  Faults faults_;
  std::array<std::size_t, 3> counts_{};  // by level
};

}  // namespace sallyport
