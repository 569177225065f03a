#include "gateway/control/console.hpp"

#include "gateway/control/answers.hpp"
#include "gateway/control/embedded.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'";

}  // namespace

HttpResponse console_answer(std::string_view path) {
  std::string_view name = "console.html";
  std::string_view type = "text/html; charset=utf-8";
  if (path == "/console.js") {
    name = "console.js";
    type = "text/javascript; charset=utf-8";
  } else if (path == "/console.css") {
    name = "console.css";
    type = "text/css; charset=utf-8";
  }
  HttpResponse response = text_answer(std::string(console_file(name)), type);
  response.headers.set("Content-Security-Policy", std::string(kPolicy));
  return response;
}

}  // namespace sallyport::gateway
