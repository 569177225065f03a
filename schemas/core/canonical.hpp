// The canonical forms that digests are made of (design section 2): members in RFC 8785 order (UTF-16 code units),
// strings with RFC 8785 escapes, numbers as the tokens that came. For values that hold no number but integers below
// 2^53 this *is* RFC 8785. Not recursive.
#pragma once

#include <boost/json/fwd.hpp>
#include <span>
#include <string>

#include "schemas/core/json.hpp"

namespace sallyport::json {

// `without`: RFC 6901 pointers (relative to value) of members or elements left out; one that leads nowhere changes
// nothing.
[[nodiscard]] std::string canonical(Value value, std::span<const std::string> without = {});

// What we make ourselves. Doubles are not allowed in it (receipts hold none): they throw std::logic_error.
[[nodiscard]] std::string canonical(const boost::json::value& value);

// Pretty-printed in the order of the text, two spaces a level (32 levels at most, deeper ones do not go further right);
// for people and lock files. Strings and numbers are the bytes that came. `indent`: spaces before every line but the
// first. Not recursive.
[[nodiscard]] std::string pretty(Value value, std::size_t indent = 0);

}  // namespace sallyport::json
