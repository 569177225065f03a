// The hook's document and its answer. The request body is
//   {"input": {"rule", "principal": {"id", "groups", "anonymous"}, "method", "server", "tool"?, "uri"?, "pinned",
//              "effect": {"category", "destructive", "repeat", "labels"}, "arguments": <the bytes that came>}}
// and the answer {"decision": "deny" | "ask" | "none", "message"?: string}, bare or as OPA's {"result": …}. Anything
// else is a failure and denies. A hook can only tighten.
#pragma once

#include <string>
#include <string_view>

#include "policy/evaluate/evaluate.hpp"

namespace sallyport::policy {

inline constexpr std::size_t kMaxHookAnswer = 64U << 10;

[[nodiscard]] std::string hook_document(std::string_view rule, const CallFacts& facts);
[[nodiscard]] HookAnswer parse_hook_answer(std::string_view rule, std::string body);

}  // namespace sallyport::policy
