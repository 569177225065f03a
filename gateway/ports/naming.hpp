// Names that are looked up: of resources by their templates, and those under which tools and prompts stand on /mcp
// (design section 8): `server__tool`, made fit for clients and looked up in a table, never split.
#pragma once

#include <string>
#include <string_view>

namespace sallyport::gateway {

// Every character outside [A-Za-z0-9_-] becomes `-`; if that changed one or the name exceeds 48 characters: its first
// 37, `_` and 10 hex digits of SHA-256 over server, NUL, tool.
[[nodiscard]] std::string exposed_name(std::string_view server, std::string_view tool);

// Whether it could be the exposed name of something of this server.
[[nodiscard]] bool may_be_of(std::string_view server, std::string_view exposed);

// Whether a URI could be made from an RFC 6570 template: its literal parts occur in order, at both ends in place.
[[nodiscard]] bool fits_template(std::string_view uri_template, std::string_view uri);
[[nodiscard]] std::size_t literal_size(std::string_view uri_template);

}  // namespace sallyport::gateway
