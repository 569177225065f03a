#include "gateway/control/console.hpp"

#include "gateway/control/answers.hpp"
#include "gateway/control/embedded.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

}  // namespace

std::optional<HttpResponse> console_answer(std::string_view path) {
  std::string_view name = path == "/" ? "console.html" : path.substr(path.rfind('/') + 1);
  const std::string_view content = console_file(name);
  if (content.empty() || (path != "/" && name == "console.html")) return std::nullopt;
  const std::string_view type = name.ends_with(".js")    ? "text/javascript; charset=utf-8"
                                : name.ends_with(".css") ? "text/css; charset=utf-8"
                                                         : "text/html; charset=utf-8";
  HttpResponse response = text_answer(std::string(content), type);
  response.headers.set("Content-Security-Policy", std::string(kPolicy));
  response.headers.set("Referrer-Policy", "no-referrer");
  response.headers.set("Cross-Origin-Opener-Policy", "same-origin");
  return response;
}

}  // namespace sallyport::gateway
