// The two listeners: where, under which names, with which certificate.
#include <fmt/core.h>

#include <algorithm>

#include "gateway/config/decoder.hpp"
#include "gateway/net/url.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {

namespace {

void decode_address(json::Value from, Decoder& decoder, ListenSettings& listen) {
  const json::Value value = Decoder::member(from, "address", json::Kind::string);
  if (!value) return;
  auto address = decoder.text(value);
  if (!address || address->empty()) return;
  if (*address == "localhost") *address = "127.0.0.1";
  if (address->starts_with('[') && address->ends_with(']')) *address = address->substr(1, address->size() - 2);
  if (!is_ip_address(*address)) {
    decoder.faults.error(
        value, fmt::format("`{}` is no IP address: write one, like 127.0.0.1, or 0.0.0.0 for all", visible(*address)));
    return;
  }
  listen.address = *address;
}

// As browsers send it: scheme, host, port, nothing else.
bool is_origin(std::string_view text) {
  const auto url = parse_url(text);
  return url && url->scheme != Url::Scheme::unix_socket && !text.ends_with('/') && url->origin() == text;
}

bool is_host(std::string_view text) {
  if (text.empty() || text.find_first_of("/@?#* ") != std::string_view::npos) return false;
  return parse_url(fmt::format("http://{}/", text)).has_value();
}

void decode_names(json::Value from, Decoder& decoder, ListenSettings& listen) {
  if (const json::Value list = Decoder::member(from, "allowedHosts", json::Kind::array)) {
    for (const json::Value one : list.elements()) {
      if (!one.is_string()) continue;
      auto host = decoder.text(one);
      if (!host || host->empty()) continue;
      if (is_host(*host)) {
        listen.allowed_hosts.push_back(std::move(*host));
      } else {
        decoder.faults.error(
            one, fmt::format("`{}` is no host: write a name, with :port where one stands in it", visible(*host)));
      }
    }
  }
  if (const json::Value list = Decoder::member(from, "allowedOrigins", json::Kind::array)) {
    for (const json::Value one : list.elements()) {
      if (!one.is_string()) continue;
      auto origin = decoder.text(one);
      if (!origin || origin->empty()) continue;
      if (is_origin(*origin)) {
        listen.allowed_origins.push_back(std::move(*origin));
      } else {
        decoder.faults.error(
            one,
            fmt::format("`{}` is no origin: write it as browsers send it, like https://app.example", visible(*origin)));
      }
    }
  }
}

void decode_public_url(json::Value from, Decoder& decoder, ListenSettings& listen) {
  const json::Value value = Decoder::member(from, "publicUrl", json::Kind::string);
  if (!value) return;
  auto url = decoder.text(value);
  if (!url) return;
  while (url->ends_with('/')) url->pop_back();
  if (!is_origin(*url))
    decoder.faults.error(value, fmt::format("`{}` is no address of a console: write scheme, host and port, like "
                                            "https://gate.example",
                                            visible(*url)));
  listen.public_url = std::move(*url);
}

void decode_listener(json::Value root, std::string_view name, Decoder& decoder, ListenSettings& listen) {
  const json::Value from = Decoder::member(root, name, json::Kind::object);
  if (!from) return;
  decode_address(from, decoder, listen);
  decode_public_url(from, decoder, listen);
  const json::Value port = Decoder::member(from, "port", json::Kind::number);
  const auto number = port ? port.integer() : std::nullopt;
  if (number && *number >= 0 && *number <= 65535) listen.port = static_cast<std::uint16_t>(*number);
  listen.enabled = Decoder::flag(from, "enabled", true);
  listen.certificate = decoder.path_member(from, "certificate");
  listen.key = decoder.path_member(from, "key");
  decode_names(from, decoder, listen);
  const bool certificate = static_cast<bool>(from.find("certificate"));
  const bool key = static_cast<bool>(from.find("key"));
  if (certificate != key) {
    decoder.faults.error(from, fmt::format("`{}` needs `{}` beside it: write both", certificate ? "certificate" : "key",
                                           certificate ? "key" : "certificate"));
  }
  if (listen.enabled && !certificate && !key && !is_loopback(listen.address)) {
    decoder.faults.error(from, fmt::format("`{}` can be reached from other machines, so plain http is refused: write "
                                           "`certificate` and `key`, or the address 127.0.0.1",
                                           listen.address));
  }
}

}  // namespace

void decode_listeners(json::Value root, Decoder& decoder, Settings& settings) {
  decode_listener(root, "listen", decoder, settings.listen);
  decode_listener(root, "control", decoder, settings.control);
  const ListenSettings& a = settings.listen;
  const ListenSettings& b = settings.control;
  if (!a.enabled || !b.enabled || a.port == 0 || a.port != b.port) return;
  const json::Value where = root.find("control") ? root.find("control") : root.find("listen");
  decoder.faults.error(where,
                       fmt::format("`listen` and `control` have the same port {}: give one of them another", a.port));
}

}  // namespace sallyport::gateway
