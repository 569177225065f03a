// Answers of the control side: errors, and the headers that every answer carries. Pure. Internal to control.
#pragma once

#include <string>
#include <string_view>

#include "gateway/net/http.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway {

[[nodiscard]] int status_of(ErrorCode code);

// {"error":{"code":…,"message":…}}
[[nodiscard]] HttpResponse error_answer(int status, std::string_view code, std::string_view message);
[[nodiscard]] HttpResponse error_answer(const Error& error);
[[nodiscard]] HttpResponse json_answer(std::string json);
[[nodiscard]] HttpResponse text_answer(std::string text, std::string_view type);

// no-store, nosniff, no framing, and a content security policy that allows nothing.
void add_security_headers(HttpHeaders& headers);

}  // namespace sallyport::gateway
