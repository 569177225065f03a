// Client of the control API, over control.sock or a URL. Blocking: a command has nothing else to do. One thread.
//
// Errors are told apart by code: unavailable (no owner runs, or it cannot be reached), forbidden (credential missing or
// wrong, or the role does not suffice), else what the API said; messages say what to do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/net/url.hpp"
#include "schemas/core/result.hpp"
#include "schemas/core/secret.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway::cli {

struct ControlTarget {
  Url url;              // of the API's root; its target is not used
  std::string ca_file;  // for https; empty: the system's store

  // `socket`: path of control.sock, used where `url` is empty. invalid: no address, or plain http off loopback, which
  // would show the credential to everybody on the way.
  [[nodiscard]] static Result<ControlTarget> make(const std::string& url, const std::string& socket,
                                                  const std::string& ca_file = {});
  [[nodiscard]] std::string name() const { return url.origin(); }  // "unix:/…/control.sock", "http://127.0.0.1:8721"
};

class ControlClient {
 public:
  ControlClient(ControlTarget target, Secret token);
  ~ControlClient();
  ControlClient(ControlClient&&) noexcept;
  ControlClient& operator=(ControlClient&&) noexcept;

  // `path` from `/api/v1/…` on, with its query. The body of the answer: JSON text.
  [[nodiscard]] Result<std::string> get(const std::string& path, Millis wait = kWait);
  [[nodiscard]] Result<std::string> post(const std::string& path, const std::string& body, Millis wait = kWait);
  // Calls back with the data of each event until it answers false (then success) or the stream ends (unavailable).
  Status events(const std::string& path, const std::function<bool(std::string_view data)>& on_event);

  [[nodiscard]] const ControlTarget& target() const;

  static constexpr Millis kWait{30'000};

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// `name=value` pairs as a query, percent-encoded; empty values are left out. "" or "?…".
[[nodiscard]] std::string query_text(const std::vector<std::pair<std::string, std::string>>& pairs);

}  // namespace sallyport::gateway::cli
