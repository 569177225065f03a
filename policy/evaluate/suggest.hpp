// suggest: a draft of a policy from calls that were decided (`policy suggest`), never looser than they were: for each
// tool and client the strictest of what was seen. Allows are only drafted for what reads, and name tool, client and
// effect; a write that was allowed is drafted as an ask, because nothing here knows its arguments. Each rule comes with
// a test.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "policy/rules/vocabulary.hpp"

namespace sallyport::policy {

// Calls of one tool by one client that got the same verdict of the rules.
struct Seen {
  std::string server, tool, principal;
  Verdict verdict = Verdict::deny;
  bool read = false;  // their effective effect was `read`, not destructive
  std::uint64_t count = 0;
};

// JSON with comments; loads without a fault against this vocabulary. What cannot be named any more (a tool that is not
// accepted, a client that is gone) is left to the default and listed in a comment.
[[nodiscard]] std::string suggest(std::span<const Seen> calls, const Vocabulary& vocabulary, Verdict otherwise);

// Made-up arguments that fit the tool's schema; empty: none were found.
[[nodiscard]] std::string sample_arguments(const VocabularyTool& tool);

}  // namespace sallyport::policy
