// What the worker knows, in one JSON file that several workers may share: each call locks it, reads it, and writes it
// back whole (a new file that takes the old one's name), so a crash leaves the state before the call or after it.
#pragma once

#include <boost/json.hpp>
#include <string>

namespace export_worker {

namespace json = boost::json;

class State {
 public:
  // Waits for the lock. Throws std::system_error where the file cannot be locked, std::runtime_error where it is no
  // JSON.
  explicit State(const std::string& path);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // {"config": {…} | null, "revision": n, "exports": […], "published": […], "executions": {tool: n}, "faults": {name:
  // n}}
  [[nodiscard]] json::object& value() { return value_; }
  [[nodiscard]] json::object& member(std::string_view name) { return value_[name].as_object(); }
  [[nodiscard]] json::array& list(std::string_view name) { return value_[name].as_array(); }

  void save();

 private:
  std::string path_;
  int lock_ = -1;
  json::object value_;
};

}  // namespace export_worker
