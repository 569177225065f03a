// The files that `init` writes: a config around the entries of the clients, a trust file that lists every tool, and a
// policy under which reads of rated tools are free and everything else asks. JSONC with comments that teach. Pure: text
// from values.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gateway/ports/settings.hpp"
#include "schemas/model/effect.hpp"

namespace sallyport::gateway {

struct StarterTool {
  std::string name;
  std::string description;  // the server's; its beginning is shown as a comment, hidden characters visible
  Hints declared;
  std::optional<EffectCategory> effect;  // what the person present said of it; none: stays unrated, as a comment
};

struct StarterServer {
  std::string id;
  std::string entry;               // JSON text (ClientServer::entry)
  std::string comment;             // where it came from; may be empty
  std::vector<StarterTool> tools;  // empty: it could not be started
};

struct Starter {
  std::vector<StarterServer> servers;
  std::map<std::string, std::string> vars;
  std::vector<ClientSettings> clients;  // with the digests of tokens that `init` made; may be empty
  std::vector<PersonSettings> people;
  std::string state;  // empty: the default
  bool without_rules =
      false;  // trust and policy stand inline, and empty: to look at the servers before the files are there
};

[[nodiscard]] std::string starter_settings(const Starter& starter);  // sallyport.jsonc
[[nodiscard]] std::string starter_trust(const Starter& starter);     // trust.jsonc
[[nodiscard]] std::string starter_policy(const Starter& starter);    // policy.jsonc

// What `init` proposes for a tool whose person says nothing: `read` if it declares itself read-only and not
// destructive.
[[nodiscard]] std::optional<EffectCategory> proposed_effect(const Hints& declared);

}  // namespace sallyport::gateway
