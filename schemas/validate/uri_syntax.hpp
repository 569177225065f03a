// The syntax of URIs (RFC 3986), IRIs (RFC 3987, in outline) and URI templates (RFC 6570), for `format`.
#pragma once

#include <string_view>

namespace sallyport::schema {

[[nodiscard]] bool is_uri(std::string_view text, bool international, bool absolute);
[[nodiscard]] bool is_uri_template(std::string_view text);

}  // namespace sallyport::schema
