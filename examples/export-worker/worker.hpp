// One MCP connection over lines (protocol 2025-11-25 and the three before it): a line in, lines out, now or later.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "faults.hpp"
#include "state.hpp"

namespace export_worker {

class Worker {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `write` gets each message with its newline. `state`: path of the state file.
  Worker(Faults faults, std::string state, std::function<void(std::string_view)> write)
      : faults_(std::move(faults)), state_(std::move(state)), write_(std::move(write)) {}

  void read(std::string_view line, Time now);

  // Answers that were ordered late: when the next one is due, and those that are due by `now`.
  [[nodiscard]] std::optional<Time> next_due() const;
  void write_due(Time now);

 private:
  void request(const json::object& message, const json::value& id, Time now);
  void call(const json::object& params, const json::value& id, Time now);
  void send(const json::value& id, std::string_view member, json::value what, Time due, Time now);
  void fail(const json::value& id, int code, std::string_view message, Time now);

  Faults faults_;
  std::string state_;
  std::function<void(std::string_view)> write_;
  std::multimap<Time, std::string> late_;
};

}  // namespace export_worker
