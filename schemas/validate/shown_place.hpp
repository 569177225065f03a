// Where something is wrong in an instance, in words that may be recorded.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sallyport::schema {

// nearest_place() of a pointer, or the redacted place that it lies at or within: names within may be the secret. Those
// that only resemble a redacted name count too.
[[nodiscard]] std::string shown_place(std::string_view pointer, std::span<const std::string> redact);

}  // namespace sallyport::schema
