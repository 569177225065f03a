#include "gateway/clients/hello.hpp"

#include "schemas/core/json.hpp"
#include "schemas/core/writer.hpp"

namespace sallyport::gateway {
namespace {

constexpr json::Limits kLimits{.bytes = kMaxHelloBytes, .depth = 4};

}  // namespace

std::string hello_line(const Hello& hello) {
  json::Writer out;
  out.begin_object().member("sallyport", std::uint64_t{1});
  if (hello.token) out.member("token", std::string_view(hello.token->reveal()));
  out.text("server", hello.server);
  return out.end_object().take();
}

Result<Hello> parse_hello(std::string line) {
  const auto document = json::Document::parse(std::move(line), kLimits);
  if (!document || !document->root().is_object() || document->root().ambiguity()) {
    return fail(ErrorCode::protocol, "the first line must be the hello of a `sallyport stdio` bridge",
                ErrorSource::client);
  }
  const json::Value root = document->root();
  const json::Value version = root.find("sallyport");
  if (!version.is_number() || version.integer() != 1) {
    return fail(ErrorCode::unsupported,
                "this gateway speaks version 1 of the bridge's hello: use the same build on both sides",
                ErrorSource::client);
  }
  Hello hello;
  const json::Value token = root.find("token");
  const json::Value server = root.find("server");
  if ((token && !token.is_string()) || (server && !server.is_string())) {
    return fail(ErrorCode::protocol, "`token` and `server` of the hello must be strings", ErrorSource::client);
  }
  if (token) hello.token = Secret(token.string());
  if (server) hello.server = server.string();
  return hello;
}

std::string hello_answer(const Status& status) {
  json::Writer out;
  out.begin_object();
  if (status) {
    out.member("ok", true);
  } else {
    out.member("error", std::string_view(status.error().message));
  }
  return out.end_object().take();
}

Status parse_hello_answer(std::string line) {
  const auto document = json::Document::parse(std::move(line), kLimits);
  if (!document) return fail(ErrorCode::protocol, "the gateway answered the hello with what is no JSON");
  const json::Value error = document->root().find("error");
  if (error.is_string()) return fail(ErrorCode::forbidden, error.string());
  const json::Value ok = document->root().find("ok");
  if (!ok.is_bool() || !ok.boolean()) return fail(ErrorCode::protocol, "the gateway did not say yes to the hello");
  return {};
}

}  // namespace sallyport::gateway
