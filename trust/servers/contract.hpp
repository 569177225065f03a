// A contract: what the operator says of a tool in trust.jsonc (design section 4). Plain values, immutable once loaded.
// Conditions (`when`, `applied`, `result`) are kept as JSON text: their language belongs to policy, which trust may not
// know; gateway/catalogue compiles them when it builds a snapshot.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"
#include "schemas/core/time.hpp"
#include "schemas/model/effect.hpp"

namespace sallyport::trust {

// A place in a file, for faults found later than loading (a condition that does not compile).
struct Raw {
  std::string text;  // JSON as it was written, without comments
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

// What a contract or one of its cases says of the effect; unset: unsaid.
struct EffectTerms {
  std::optional<EffectCategory> category;  // `effect`
  std::optional<bool> destructive;
  std::optional<Repeat> repeat;
  std::optional<std::vector<std::string>> labels;  // sorted, unique
};

// The first case whose `when` holds for the arguments (only if true, not if undetermined) replaces the effect.
struct Case {
  Raw when;
  EffectTerms terms;
};

// What an answered error proves (section 7). `transient` is none, and worth another attempt.
enum class ErrorMeaning : std::uint8_t { unknown, none, transient };
struct ErrorSet {
  std::vector<int> http;            // statuses
  std::vector<std::int64_t> codes;  // of JSON-RPC errors
  std::optional<Raw> result;        // a condition on the structuredContent of an `isError` result
};
struct ErrorMap {
  enum class Mode : std::uint8_t { unknown, none, listed };
  Mode mode = Mode::unknown;
  ErrorSet none;
  ErrorSet transient;
};
// By status and code; `result` conditions are the caller's. An HTTP status of an answer without a JSON-RPC message.
[[nodiscard]] ErrorMeaning meaning(const ErrorMap& errors, std::optional<int> http, std::optional<std::int64_t> code);

struct KeyPlace {
  enum class Kind : std::uint8_t { argument, meta, header };
  Kind kind = Kind::argument;
  std::string name;  // a pointer into the arguments, a key of _meta, or a header's name
};

// A value that the gateway's own call passes: a literal, the operation's key or id, or one from the call's arguments.
struct OwnArgument {
  enum class From : std::uint8_t { literal, key, operation, argument };
  From from = From::literal;
  std::string text;  // literal: JSON text; argument: pointer
};
struct OwnCall {
  std::string tool;  // of the same server
  std::map<std::string, OwnArgument> arguments;
};

struct Lookup {
  OwnCall call;
  Raw applied;                           // a condition on the result's structuredContent
  Outcome not_found = Outcome::unknown;  // `unknown` or `none`: what an answer in which `applied` is false proves
};
struct Revision {
  OwnCall call;
  std::string at;  // pointer into the result's structuredContent
};

enum class Output : std::uint8_t { warn, enforce, off };
enum class OverLimit : std::uint8_t { withhold, truncate };  // of a result longer than maxResultBytes

struct Contract {
  std::string name;  // as written: `create_order`, `get_*`, `*`
  EffectTerms terms;
  std::vector<Case> cases;
  std::vector<std::string> paths;  // pointers into the arguments that are file paths; a `*` step: every element
  std::string scope;               // a template; empty: the whole server
  ErrorMap errors;
  std::optional<KeyPlace> idempotency_key;
  std::optional<Millis> retention;  // how long the server remembers a key
  std::optional<Millis> deadline;
  std::optional<unsigned> attempts;  // 1 to 10
  std::optional<Lookup> lookup;
  std::optional<Revision> revision;
  std::string says;                           // a template; empty: none
  std::vector<std::string> record_arguments;  // pointers whose values receipts show
  std::vector<std::string> record_result;
  std::optional<std::size_t> max_result_bytes;
  OverLimit over_limit = OverLimit::withhold;
  Output output = Output::warn;
  std::string digest;  // of the entry's canonical form, without comments; bound into approvals
};

// What is left of a contract while the server's identity is not known to be the accepted one: labels, paths, says,
// record and bounds; everything that could loosen is gone (design section 4).
[[nodiscard]] Contract tightening_part(const Contract& contract);

// The arguments object of the gateway's own call. ErrorCode::invalid if a value it wants is absent. `arguments` may be
// absent; `key` and `operation` are empty where the server was not given them: by them it would find nothing.
[[nodiscard]] Result<std::string> own_arguments(const OwnCall& call, json::Value arguments, std::string_view key,
                                                std::string_view operation);

}  // namespace sallyport::trust
