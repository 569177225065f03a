// trust.lock.json: what was accepted, by the machine's hand (design section 4). Holds every accepted definition in
// full, so that `check --offline`, `explain` and policy tests need nothing else. Values; copies share the definitions.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"
#include "schemas/core/time.hpp"
#include "trust/servers/identity.hpp"
#include "trust/servers/trust_file.hpp"

namespace sallyport::trust {

// What of a server can reach a model, and so is accepted.
enum class Offer : std::uint8_t { tool, instructions, prompt, resource_template };
inline constexpr std::array kOffers{Offer::tool, Offer::instructions, Offer::prompt, Offer::resource_template};
[[nodiscard]] std::string_view to_string(Offer offer);  // `tool`, `prompt`, `resource template`, `instructions`
// The name that a definition is accepted under: of instructions the empty one. nullopt: it has none.
[[nodiscard]] std::optional<std::string> name_of(Offer offer, json::Value definition);

// One accepted object (a tool, a prompt, a resource template) or text (instructions, as a JSON string).
struct Accepted {
  std::string digest;                              // by the server's `ignored`
  std::shared_ptr<const json::Document> document;  // canonical order; root() is the definition
  std::string by;                                  // a person id; empty: the file's writer
  UnixMillis at = 0;                               // 0: not told

  [[nodiscard]] json::Value definition() const { return document->root(); }
};
using AcceptedByName = std::map<std::string, std::vector<Accepted>, std::less<>>;  // several per name, oldest first

struct LockServer {
  Identity identity;
  std::string era;                   // the protocol version that was spoken
  std::vector<std::string> ignored;  // pointers that the digests leave out; from the trust file's `ignore`
  AcceptedByName tools;
  AcceptedByName prompts;
  AcceptedByName resource_templates;  // by URI template
  AcceptedByName instructions;        // under the empty name

  [[nodiscard]] AcceptedByName& of(Offer offer) { return this->*list_of(offer); }
  [[nodiscard]] const AcceptedByName& of(Offer offer) const { return this->*list_of(offer); }
  [[nodiscard]] std::span<const Accepted> accepted(Offer offer, std::string_view name) const;  // oldest first
  [[nodiscard]] std::span<const Accepted> tool(std::string_view name) const { return accepted(Offer::tool, name); }

 private:
  [[nodiscard]] static AcceptedByName LockServer::* list_of(Offer offer);
};

struct LockFile {
  std::map<std::string, LockServer, std::less<>> servers;

  [[nodiscard]] const LockServer* server(std::string_view id) const;
  [[nodiscard]] bool empty() const { return servers.empty(); }
};

// ErrorCode::invalid with place; ErrorCode::corrupt if a definition does not have the digest that it stands under.
[[nodiscard]] Result<LockFile> parse_lock(std::string text);
// Pretty, in stable order, ends with a newline; parse_lock gives back the same.
[[nodiscard]] std::string print(const LockFile& lock);

// Makes an entry of a definition as the server sent it. ErrorCode::invalid as definition_digest.
[[nodiscard]] Result<Accepted> make_accepted(json::Value definition, std::span<const std::string> ignored,
                                             std::string by, UnixMillis at);
// Puts it into the list: `also` keeps the others (several releases at once), else it replaces them. Equal digests once.
void accept(std::vector<Accepted>& list, Accepted entry, bool also);
// The same server with digests by another list of ignored pointers (the trust file's `ignore` was changed).
[[nodiscard]] Result<LockServer> with_ignored(const LockServer& server, std::span<const std::string> ignored);

enum class DefinitionState : std::uint8_t {
  unpinned,     // nobody accepted a definition of that name: asks, never allowed
  pinned,       // it is an accepted one
  drifted,      // it is none of the accepted ones: asks with the difference
  quarantined,  // not listed, not called
};
[[nodiscard]] std::string_view to_string(DefinitionState state);

struct Judgement {
  DefinitionState state = DefinitionState::unpinned;
  // The definition to list and validate by: the equal one (pinned), the newest accepted one (drifted under `ask`);
  // null: the server's own (unpinned, or drifted under `follow`), or none (quarantined). Belongs to the LockServer.
  const Accepted* accepted = nullptr;
};
// `server` null: not accepted at all. What an accepted server added since is unpinned, under `quarantine` quarantined.
// `digest` empty: the definition cannot be judged. Depends on nothing that a client or a server did before; an exact
// revert restores `pinned`.
[[nodiscard]] Judgement judge(const LockServer* server, Offer offer, std::string_view name, std::string_view digest,
                              OnDrift on_drift);

}  // namespace sallyport::trust
