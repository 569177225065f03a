// trust.jsonc: what we believe of whom (design section 4). Strict: unknown members, wrong types and impossible values
// are errors with place and remedy, all at once; a file with errors is refused whole. Immutable once loaded.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/fault.hpp"
#include "schemas/core/json.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::trust {

enum class OnDrift : std::uint8_t { ask, quarantine, follow };
enum class OnFinding : std::uint8_t { quarantine, warn };

// Hints that may loosen, per use, on pinned definitions.
struct TrustHints {
  bool read_only = false;         // permission: readOnlyHint
  bool destructive = false;       // permission: destructiveHint (false is believed)
  bool retry_idempotent = false;  // retry: idempotentHint
  bool retry_read_only = false;   // retry: readOnlyHint
  friend bool operator==(const TrustHints&, const TrustHints&) = default;
};

// What a server may ask of the client.
struct Passes {
  bool elicitation = false, sampling = false, roots = false;
  friend bool operator==(const Passes&, const Passes&) = default;
};

struct ServerTrust {
  std::string id;
  TrustHints trust_hints;
  OnDrift on_drift = OnDrift::ask;
  OnFinding on_finding = OnFinding::quarantine;  // `onFinding`: of the text scan, until a person accepts the definition
  bool assert_formats = false;                   // `formats`: whether `format` in its schemas refuses
  Output output = Output::warn;                  // of tools whose contract says nothing of it
  Passes passes;
  std::vector<std::string> ignore;  // pointers into a definition that no digest covers
  std::vector<std::string> spki;    // `sha256:…`: identity by key
  std::vector<Contract> tools;      // in the order of the file
};

struct TrustFile {
  std::map<std::string, ServerTrust, std::less<>> servers;
  std::string digest;  // `sha256:…` over all sources in canonical form; stands in receipts

  [[nodiscard]] const ServerTrust* server(std::string_view id) const;
};

struct TrustSource {
  std::string file;  // for faults; empty: inline
  json::Value root;  // the object with `servers`
};
struct LoadedTrust {
  std::optional<TrustFile> file;  // set if no fault is an error
  Faults faults;
};
// Several sources together make one file; a server may stand in one of them only.
[[nodiscard]] LoadedTrust load_trust(std::span<const TrustSource> sources);
[[nodiscard]] LoadedTrust load_trust(const json::Document& document, std::string file);

// Exact name beats longest prefix beats `*`. Null: nothing is said.
[[nodiscard]] const Contract* contract_for(const ServerTrust& server, std::string_view tool);
[[nodiscard]] const Contract* contract_for(const TrustFile& file, std::string_view server, std::string_view tool);

[[nodiscard]] std::string_view to_string(OnDrift value);

}  // namespace sallyport::trust
