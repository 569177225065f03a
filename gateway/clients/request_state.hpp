// RequestState: what a modern client carries for us between two legs of a call (ports/input.hpp): sealed, so that it
// can neither be read nor altered, and bound to the principal, the mount, the very request and a time. That it is used
// once is the calls' business (`leg`). On the loop.
#pragma once

#include <string>
#include <string_view>

#include "gateway/base/clock.hpp"
#include "gateway/ports/inbound.hpp"
#include "schemas/core/result.hpp"
#include "trust/crypto/seal.hpp"

namespace sallyport::gateway {

// The request that a state is for; the same in every leg.
struct LegOf {
  const ClientContext& client;
  std::string_view method;
  std::string_view name;  // what Mcp-Name mirrors
  json::Value params;
};

class RequestStates {
 public:
  static constexpr std::size_t kLongest = 64U << 10;  // bytes of a state that is looked at

  // `key`: 32 bytes, the same in every life of the gateway, or empty: one of this life. `entropy` outlives this.
  RequestStates(std::string_view key, Entropy& entropy);
  ~RequestStates();
  RequestStates(const RequestStates&) = delete;
  RequestStates& operator=(const RequestStates&) = delete;

  [[nodiscard]] std::string seal(const InputNeeded& needed, const LegOf& leg);
  struct Opened {
    InputGiven given;       // without document and responses
    std::string principal;  // that it was made for
  };
  // invalid, in words for the client: not ours, altered, of somebody else, of another call, or too old. An anonymous
  // client is whoever the state says: nothing else tells it from others.
  [[nodiscard]] Result<Opened> open(std::string_view state, const LegOf& leg, UnixMillis now) const;

 private:
  trust::SealKey key_{};
  Entropy& entropy_;
};

// The server's requests under its own keys, but none that could be taken for one of ours (`dev.sallyport/…`); and the
// answers back. Null where there are none.
[[nodiscard]] std::string input_requests(json::Value requests);
[[nodiscard]] std::shared_ptr<const json::Document> input_responses(json::Value responses);

}  // namespace sallyport::gateway
