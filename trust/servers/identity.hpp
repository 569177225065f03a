// Whom an entry of the trust file is about: what was found when a server was accepted, not its name in the config
// (design sections 2 and 4). Found by gateway/servers, kept in trust.lock.json, digested into receipts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::trust {

struct Identity {
  enum class Kind : std::uint8_t {
    http,     // url, certificate (name; https only), spki (where the trust file asks for keys)
    package,  // runner (`npx`, `uvx`), package, version, integrity
    image,    // image, digest
    command,  // command, script (empty: none), digest (of the script's bytes if there is one, else of the command's)
  };
  Kind kind = Kind::command;
  std::string url;
  std::string certificate;
  std::vector<std::string>
      spki;  // `sha256:…` of a SubjectPublicKeyInfo; several in the lock for a change of keys, one found
  std::string runner;
  std::string package;
  std::string version;    // empty or no exact version (`latest`, a range): not pinned
  std::string integrity;  // of the registry: `sha512-…`; empty where none could be found
  std::string image;
  std::string command;
  std::string script;
  std::string digest;  // `sha256:…`

  friend bool operator==(const Identity&, const Identity&) = default;
};

[[nodiscard]] std::string_view to_string(Identity::Kind kind);

// Canonical JSON (absent members left out, spki sorted) and its digest, `sha256:…` over "sallyport/identity/v1\n" + it.
[[nodiscard]] std::string canonical(const Identity& identity);
[[nodiscard]] std::string digest(const Identity& identity);
// The strict inverse of canonical() (order of members is free).
[[nodiscard]] Result<Identity> parse_identity(json::Value value);

// Why `found` is not the server that was accepted as `locked`; nullopt: it is. Of spki one key in common is enough.
[[nodiscard]] std::optional<std::string> mismatch(const Identity& found, const Identity& locked);
// `found` with the keys that were accepted before, for a change of keys: where both are the same URL, known by keys.
// Else `found` as it is.
[[nodiscard]] Identity with_keys(Identity found, const Identity& locked);
// Whether a program of that path or name only starts others, which its own digest says nothing of: interpreters,
// shells, wrappers, runners of packages.
[[nodiscard]] bool starts_others(std::string_view command);
// What in it does not tie it down (`@latest`, no integrity, plain http off the machine); nullopt: it is pinned.
[[nodiscard]] std::optional<std::string> unpinned(const Identity& identity);
// For people: `https://orders.example/mcp (certificate orders.example)`.
[[nodiscard]] std::string describe(const Identity& identity);

}  // namespace sallyport::trust
