// Env files (`envFile` of a server entry): NAME=VALUE lines as editors and shells know them. Nothing in them is
// expanded.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "schemas/core/result.hpp"

namespace sallyport::gateway {

// Empty lines and lines that begin with `#` are skipped, `export ` is too; a value may stand in '…' (as it is) or "…"
// (with
// \n \t \" \\ \$); unquoted, ` #` begins a comment. Errors name the line, never its text.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_env_file(std::string_view text);

}  // namespace sallyport::gateway
