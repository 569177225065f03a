// Conditions in words, for people: what a grant covers, what a rule looks at. Pure.
#pragma once

#include <string>
#include <vector>

#include "schemas/core/json.hpp"

namespace sallyport::policy {

// One sentence a member, in the order of the text: "`amount` is a number of at most 50". Values and names have hidden
// characters made visible. `conditions`: an object that ArgumentConditions::compile takes.
[[nodiscard]] std::vector<std::string> in_words(json::Value conditions);

}  // namespace sallyport::policy
