// Flight: one operation being worked on, with everybody who waits for it. The client's request, a repeat of it and
// `sallyport_wait` all attach to the same flight, so that an operation runs once and all are told the same. Lives on
// the loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/base/signal.hpp"
#include "gateway/calls/call.hpp"
#include "gateway/ports/server_link.hpp"

namespace sallyport::gateway::calls {

// A client request that waits for the flight's answer.
struct Waiter {
  ClientChannel* channel = nullptr;  // valid while the waiter is attached
  std::string session;
  std::string progress_token;  // raw token of the client, empty: wants no progress
  double last_progress = -1;   // notes must increase
  bool asks_by_form = false, asks_by_url = false;
  std::shared_ptr<Cancel> question;  // of an ask that was put to its user: withdraws it
};

enum class Stage : unsigned char { deciding, asking, running, done };

struct Flight {
  explicit Flight(asio::any_io_executor loop) : changed(loop), nudge(loop) {}

  Call call;
  Stage stage = Stage::deciding;
  std::vector<Waiter*> waiters;
  Signal changed;                            // stage, answer or the list of waiters: for those who wait for the flight
  Signal nudge;                              // the approval or the waiters changed: for the one who drives it
  std::optional<std::string> result;         // the answer once done: raw result…
  std::optional<mcp::RpcError> error;        // … or an error
  std::shared_ptr<const InputNeeded> input;  // … or what a modern client is asked first; nobody drives it meanwhile
  std::optional<std::uint64_t> ttl_ms;       // how long a modern client may keep the result
  bool kept = false;                         // a client takes it as a task: the answer is kept for whom asks by its id
  bool left = false;                         // … and was given the task: nobody can be asked any more
  bool dormant = false;                      // waits in the store for an approval; nobody drives it
  Cancel cancel;
  Deadline deadline;                 // absolute, from the moment it may run
  Refusal pending;                   // what a client is told whose hold ended: APPROVAL_PENDING
  std::optional<ServerAnswer> late;  // a good answer to an earlier attempt, while another is under way
};

// Links a waiter for as long as it lives, however its request ends.
class Attached {
 public:
  Attached(std::shared_ptr<Flight> flight, Waiter& waiter) : flight_(std::move(flight)), waiter_(waiter) {
    flight_->waiters.push_back(&waiter_);
    flight_->nudge.notify();
  }
  ~Attached() {
    if (waiter_.question) waiter_.question->cancel(CancelReason::client);
    std::erase(flight_->waiters, &waiter_);
    flight_->nudge.notify();  // the last one to leave lets the operation wait in the store
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  std::shared_ptr<Flight> flight_;
  Waiter& waiter_;
};

}  // namespace sallyport::gateway::calls
