// Metrics in the Prometheus text form; names stand in metrics.cpp and docs. Thread-safe. One object, made by app and
// passed on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace sallyport::gateway {

class Metrics {
 public:
  Metrics();
  ~Metrics();
  void call(std::string_view server, std::string_view verdict, std::string_view code,
            double seconds);  // code: "" if none
  void receipt(std::string_view kind);
  void waiting_approvals(std::int64_t now);
  void sessions(std::int64_t now);
  void children(std::int64_t now);
  void unknown_operations(std::int64_t now);
  void server_up(std::string_view server, bool up);
  [[nodiscard]] std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sallyport::gateway
