// ControlServer: the control side over HTTP (design section 11): `/api/v1/…` for console and command line, the console
// itself, `/metrics`, `/readyz`, `/healthz`. Takes connections from whoever accepts them: one object serves the TCP
// listener and `control.sock`. Every route, role, body and status: docs/control-api.md. On the loop.
//
// - Order of checks: Host and Origin (403), path (404), method (405 with Allow), credential (401), type of the body
//   (415), its size (413), its content (400), then the Desk, which checks the role (403).
// - No cookies, no CORS: a page of another origin cannot send a credential that it does not have, and Origin is
// checked.
// - A credential is a person's token, or a session that a one-time code of theirs was exchanged for.
// - A POST needs `Content-Type: application/json`; unknown members and ambiguous JSON are refused.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gateway/base/clock.hpp"
#include "gateway/base/metrics.hpp"
#include "gateway/control/people_book.hpp"
#include "gateway/net/http_server.hpp"
#include "gateway/ports/desk.hpp"
#include "gateway/ports/settings.hpp"

namespace sallyport::gateway {

// What `/readyz` says. Called on the loop; must not wait.
class Readiness {
 public:
  virtual ~Readiness() = default;
  [[nodiscard]] virtual bool ready() const = 0;          // false: 503
  [[nodiscard]] virtual std::string detail() const = 0;  // a JSON object: servers and their problems, store
};

struct ControlOptions {
  ListenSettings listen;  // address, allowed hosts and origins; loopback names are always hosts (control.sock)
  std::size_t body_bytes = 1U << 20;
  std::size_t connections = 256;
  std::size_t event_streams = 64;
  Millis keep_alive{15'000};  // a comment on an event stream that was silent so long
  Clock* clock = &system_clock();
  Entropy* entropy = &system_entropy();
};

class ControlServer {
 public:
  // `desk`, `readiness` and `metrics` outlive this.
  ControlServer(asio::any_io_executor loop, std::shared_ptr<const PeopleBook> people, Desk& desk,
                const Readiness& readiness, const Metrics& metrics, ControlOptions options);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  void accept(std::unique_ptr<ByteStream> stream);  // serves it in the background
  // From the next request on. Sessions and codes of people who are gone, or have another token, end; their event
  // streams with their next event.
  void set_people(std::shared_ptr<const PeopleBook> people);
  // Where people reach the console (`http://127.0.0.1:8721`); for the links of one-time codes.
  void set_address(std::string address);
  // An approval is new or has changed: those who listen to `/api/v1/approvals/events` hear its id.
  void approval_changed(const std::string& id);
  // Other rules are in force, or wait: the same listeners are told to look at everything.
  void policy_changed();
  // Ends the event streams, finishes what is being answered. True: nothing was cut.
  asio::awaitable<bool> stop(Deadline deadline);
  [[nodiscard]] std::size_t connections() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sallyport::gateway
