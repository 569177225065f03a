// Text encodings: hex, base64, JSON strings and pointers, and text made safe for people to read.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

[[nodiscard]] std::string to_hex(std::string_view bytes);  // lower case
[[nodiscard]] std::optional<std::string> from_hex(std::string_view hex);
[[nodiscard]] std::string to_base64(std::string_view bytes);                     // RFC 4648, padded
[[nodiscard]] std::string to_base64url(std::string_view bytes);                  // not padded
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);     // strict
[[nodiscard]] std::optional<std::string> from_base64url(std::string_view text);  // strict
[[nodiscard]] std::string percent_encode(std::string_view text);                 // all but RFC 3986 unreserved

// A JSON string literal with quotes, RFC 8785 escapes. Bad UTF-8 becomes U+FFFD.
[[nodiscard]] std::string quote(std::string_view text);

// One RFC 6901 step: `~` and `/` escaped.
[[nodiscard]] std::string pointer_step(std::string_view name);
// The decoded steps; nullopt if it is no pointer (not empty and not starting with `/`, or a bad escape).
[[nodiscard]] std::optional<std::vector<std::string>> pointer_steps(std::string_view pointer);

[[nodiscard]] bool valid_utf8(std::string_view text);
[[nodiscard]] std::size_t code_points(std::string_view utf8);
// NFKC_Casefold (compatibility form, case folded, invisible characters dropped); nullopt for bad UTF-8. ASCII is quick.
// Linear time: more than about fifty combining marks on one letter are folded in groups.
[[nodiscard]] std::optional<std::string> fold(std::string_view utf8);

// Control (line feed and tab too), bidi, invisible, tag and other deceiving characters and bytes that are no UTF-8 made
// visible as `\u{202E}`; everything else as it is.
[[nodiscard]] std::string visible(std::string_view utf8);
// Whether it holds such characters, apart from tab, line feed and carriage return.
[[nodiscard]] bool has_hidden(std::string_view utf8);

// Not in constant length, but in time that does not depend on where they differ.
[[nodiscard]] bool equal_secret(std::string_view a, std::string_view b);

// The nearest of `known` by edit distance, if near enough to be a slip.
[[nodiscard]] std::optional<std::string> nearest(std::string_view name, std::span<const std::string> known);

}  // namespace sallyport
