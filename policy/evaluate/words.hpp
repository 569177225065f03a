// Rules in words, for explanations and comparisons; private to policy/evaluate. Hidden characters are visible.
#pragma once

#include <string>
#include <vector>

#include "policy/rules/policy.hpp"

namespace sallyport::policy {

[[nodiscard]] std::string joined(const std::vector<std::string>& list);
[[nodiscard]] std::string names_words(const NameTest& names);       // `read_*, write_file`
[[nodiscard]] std::string match_words(const Match& match);          // `server orders, tool refund, arguments amount`
[[nodiscard]] std::string terms_words(const ApprovalTerms& terms);  // `payments, 2 of them, within 1h`

}  // namespace sallyport::policy
