// The formats of JSON Schema, for configurations that assert them. Unknown formats assert nothing.
#pragma once

#include <cstdint>
#include <string_view>

namespace sallyport::schema {

enum class Format : std::uint8_t {
  none,
  date_time,
  date,
  time,
  duration,
  email,
  idn_email,
  hostname,
  idn_hostname,
  ipv4,
  ipv6,
  uri,
  uri_reference,
  iri,
  iri_reference,
  uri_template,
  uuid,
  json_pointer,
  relative_json_pointer,
  regex,
};

[[nodiscard]] Format format_of(std::string_view name);
// Whether a decoded string is of that form. Linear in its length, except `regex`, whose length is bounded.
[[nodiscard]] bool has_format(Format format, std::string_view text);

}  // namespace sallyport::schema
