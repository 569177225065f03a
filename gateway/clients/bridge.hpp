// The client side of `sallyport stdio` and `wrap`: joins our standard input and output to the owner's `client.sock`. It
// has no key, no store and no say (design section 12): it says hello and copies bytes. On the loop.
#pragma once

#include <memory>
#include <string>

#include "gateway/clients/hello.hpp"
#include "gateway/net/byte_stream.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway {

struct BridgeOptions {
  std::string socket_path;
  Hello hello;
  Millis connect_wait{5'000};
  Millis hello_wait{10'000};
  Millis drain{5'000};  // after the end of our input: for the answers that are still to come
};

// Runs until our input ends (and the answers came, or `drain` is over), our output breaks or the owner goes away.
// `local`: adopt_stdio(). Errors, for standard error and exit status 2: unavailable (no owner, or it went away),
// forbidden (the hello was refused, in the owner's words), protocol, timeout. Success is exit status 0.
asio::awaitable<Status> run_bridge(std::unique_ptr<ByteStream> local, BridgeOptions options);

}  // namespace sallyport::gateway
