// `notify`: where asks are told (gateway/control/webhooks.hpp).
#include <fmt/format.h>

#include "gateway/config/decoder.hpp"
#include "gateway/net/url.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

bool is_usable(const std::string& text) {
  const auto url = parse_url(text);
  if (!url || url->scheme == Url::Scheme::unix_socket) return false;
  return url->scheme == Url::Scheme::https || is_loopback(url->host);
}

void decode_one(json::Value from, Decoder& decoder, Settings& settings) {
  NotifySettings out;
  const json::Value url = from.find("url");
  if (url.is_object()) {
    out.url_file = decoder.path_member(url, "file");
  } else if (auto text = decoder.text(url)) {
    if (!is_usable(*text))
      decoder.faults.error(url, "this is no address to notify: write https://… (plain http only on this machine)");
    out.url = Secret(std::move(*text));
  }
  if (const json::Value secret = Decoder::member(from, "secret", json::Kind::object))
    out.secret_file = decoder.path_member(secret, "file");
  if (const std::string format = decoder.text_member(from, "format"); !format.empty()) out.format = format;
  out.arguments = Decoder::flag(from, "arguments", false);
  out.answers = Decoder::flag(from, "answers", true);
  if (const json::Value body = Decoder::member(from, "body", json::Kind::object)) {
    out.body = std::string(body.raw());
    out.format = "body";
    if (from.find("format"))
      decoder.faults.error(from.find("format"), "write `format` or a `body` of your own, not both");
    // Comments and trailing commas of the config do not go into what is sent.
    if (!json::Document::parse(out.body))
      decoder.faults.error(body, "a `body` must be plain JSON, without comments and trailing commas");
  }
  if (out.format == "json" && out.secret_file.empty())
    decoder.faults.error(from, "a notice in format `json` is signed: write \"secret\": { \"file\": \"…\" }");
  settings.notify.push_back(std::move(out));
}

}  // namespace

void decode_notify(json::Value root, Decoder& decoder, Settings& settings) {
  const json::Value list = Decoder::member(root, "notify", json::Kind::array);
  if (!list) return;
  for (const json::Value one : list.elements()) {
    if (one.is_object()) decode_one(one, decoder, settings);
  }
}

}  // namespace sallyport::gateway
