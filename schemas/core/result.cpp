#include "schemas/core/result.hpp"

namespace sallyport {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return "invalid";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::forbidden:
      return "forbidden";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::timeout:
      return "timeout";
    case ErrorCode::limit:
      return "limit";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::protocol:
      return "protocol";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::io:
      return "io";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

std::unexpected<Error> fail_in(std::string_view place, Error error) {
  std::string message;
  message.reserve(place.size() + 2 + error.message.size());
  message.append(place).append(": ").append(error.message);
  error.message = std::move(message);
  return std::unexpected<Error>(std::move(error));
}

}  // namespace sallyport
