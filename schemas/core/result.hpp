// Result<T>: expected failures are values. Error says what went wrong, on whose side, and whether trying again can
// help.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace sallyport {

enum class ErrorCode : std::uint8_t {
  invalid,  // the input is wrong; the message names the place and the remedy
  not_found,
  conflict,  // exists already, or the state does not allow it
  forbidden,
  unavailable,  // a server or a service cannot be reached now
  timeout,
  limit,  // a bound was reached
  cancelled,
  protocol,  // a peer broke its protocol
  unsupported,
  io,        // the operating system refused
  corrupt,   // stored bytes are not what was written
  internal,  // a fault of ours
};

enum class ErrorSource : std::uint8_t { client, server, gateway };

// Whether what was attempted may have happened. Only `not_sent` proves that it did not.
enum class RetryClass : std::uint8_t { never, not_sent, later };

// One sentence, no capital and no full stop; user input in backticks; causes joined by colons.
struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  ErrorSource source = ErrorSource::gateway;
  RetryClass retry = RetryClass::never;
};

template <class T>
using Result = std::expected<T, Error>;

using Status = Result<void>;

[[nodiscard]] std::string_view to_string(ErrorCode code);

// `return fail(ErrorCode::invalid, "…")` from any function that returns a Result.
[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message,
                                                 ErrorSource source = ErrorSource::gateway,
                                                 RetryClass retry = RetryClass::never) {
  return std::unexpected<Error>(Error{code, std::move(message), source, retry});
}
[[nodiscard]] inline std::unexpected<Error> fail(Error error) { return std::unexpected<Error>(std::move(error)); }

// The same error with the place in front: `{place}: {message}`.
[[nodiscard]] std::unexpected<Error> fail_in(std::string_view place, Error error);

}  // namespace sallyport
