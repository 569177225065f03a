#include "gateway/control/answers.hpp"

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return 400;
    case ErrorCode::forbidden:
      return 403;
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::conflict:
      return 409;
    case ErrorCode::limit:
      return 429;
    case ErrorCode::unsupported:
      return 501;
    case ErrorCode::protocol:
      return 502;
    case ErrorCode::unavailable:
    case ErrorCode::cancelled:
      return 503;
    case ErrorCode::timeout:
      return 504;
    case ErrorCode::io:
    case ErrorCode::corrupt:
    case ErrorCode::internal:
      return 500;
  }
  return 500;
}

void add_security_headers(HttpHeaders& headers) {
  headers.set("Cache-Control", "no-store");
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("X-Frame-Options", "DENY");
  headers.set("Referrer-Policy", "no-referrer");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  if (!headers.has("Content-Security-Policy")) {
    headers.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  }
}

HttpResponse text_answer(std::string text, std::string_view type) {
  HttpResponse response;
  response.headers.add("Content-Type", std::string(type));
  response.body = std::move(text);
  add_security_headers(response.headers);
  return response;
}

HttpResponse json_answer(std::string json) {
  if (!json.ends_with('\n')) json += '\n';
  return text_answer(std::move(json), "application/json");
}

HttpResponse error_answer(int status, std::string_view code, std::string_view message) {
  HttpResponse response = json_answer(R"({"error":{"code":)" + quote(code) + R"(,"message":)" + quote(message) + "}}");
  response.status = status;
  return response;
}

HttpResponse error_answer(const Error& error) {
  return error_answer(status_of(error.code), to_string(error.code), error.message);
}

}  // namespace sallyport::gateway
