// RFC 3986 references, as far as `$id` and `$ref` need them: resolve against a base, split off the fragment.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sallyport::schema {

// The target of `reference` as seen from `base` (section 5.2, with dot segments removed). Either may be relative.
[[nodiscard]] std::string resolve_uri(std::string_view base, std::string_view reference);

struct SplitUri {
  std::string_view uri;       // without fragment
  std::string_view fragment;  // without `#`; empty if there is none
};
[[nodiscard]] SplitUri split_fragment(std::string_view uri);

// Percent escapes resolved; nullopt for a broken escape.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

}  // namespace sallyport::schema
