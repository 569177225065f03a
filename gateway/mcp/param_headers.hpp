// `Mcp-Param-*`: the headers of a modern tools/call that mirror arguments, as `x-mcp-header` in the tool's inputSchema
// asks for (mcp.md 1.3). Used on both legs: made for servers, compared for clients. Pure.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway::mcp {

struct ParamHeader {
  std::string name;               // without the prefix, as declared
  std::vector<std::string> path;  // of property names from the arguments' root
  bool numeric = false;           // compared as a number
};

// What a schema declares. A declaration that the specification forbids (not reachable through `properties` alone, no
// token, not a string, integer or boolean, a name twice) makes the tool unusable over modern HTTP: the error says why.
[[nodiscard]] Result<std::vector<ParamHeader>> param_headers(json::Value input_schema);

// Header name (with prefix) and encoded value of each declared argument that is there and not null.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> param_values(const std::vector<ParamHeader>& declared,
                                                                            json::Value arguments);

// Finds a header by name; nullopt: there is none.
using HeaderLookup = std::function<std::optional<std::string_view>(std::string_view name)>;
// Where header and argument disagree, in words; nullopt: they agree. A header without an argument is ignored.
[[nodiscard]] std::optional<std::string> param_mismatch(const std::vector<ParamHeader>& declared, json::Value arguments,
                                                        const HeaderLookup& find);

}  // namespace sallyport::gateway::mcp
