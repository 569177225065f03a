// Settings: sallyport.jsonc as values (design section 4), made by config/, used by everybody. Immutable once loaded.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/secret.hpp"
#include "schemas/core/time.hpp"
#include "schemas/model/principal.hpp"

namespace sallyport::gateway {

// A value that may come from elsewhere and is then read again when needed.
struct SecretSource {
  enum class Kind : unsigned char { literal, file, command };
  Kind kind = Kind::literal;
  Secret literal;
  std::string path;                  // of file; absolute
  std::vector<std::string> command;  // argv
};

struct ServerSettings {
  std::string id;
  enum class Transport : unsigned char { stdio, http };
  Transport transport = Transport::stdio;
  // stdio
  std::string command;
  std::vector<std::string> args;
  std::map<std::string, Secret> env;  // as configured (with envFile); added to the allow-list
  std::string cwd;                    // absolute, or empty
  // http
  std::string url;
  std::map<std::string, SecretSource> headers;
  std::string ca_file;  // "sallyport": {"caFile": …}; empty: the system's
  bool spki = false;    // identity by key as well
  bool disabled = false;
  bool shared = false;           // one child for all principals
  bool isolate_session = false;  // one child per session
  std::string era = "auto";      // auto, legacy, modern
  Millis start_timeout{30'000};
  Millis timeout{300'000};  // default deadline of a call
  std::string problem;      // of its surroundings (unset variable, …): the server is set aside, with this reason
};

struct ClientSettings {
  std::string id;
  std::string token_sha256;  // hex
  std::vector<std::string> groups;
  std::string owner;
  Millis hold{45'000};
};

struct PersonSettings {
  Person person;
  std::string token_sha256;
};

struct ListenSettings {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  bool enabled = true;
  std::string certificate, key;            // TLS by files; required off loopback
  std::vector<std::string> allowed_hosts;  // besides address and loopback names
  std::vector<std::string> allowed_origins;
  std::string public_url;  // of control: where people reach the console; empty: the listener's own address
};

// Where asks are told: a chat room or a program (gateway/control/webhooks.hpp).
struct NotifySettings {
  Secret url;                   // of chat rooms it is itself a secret; or:
  std::string url_file;         // absolute
  std::string secret_file;      // absolute: what deliveries are signed with; empty: they are not
  std::string format = "json";  // json, slack, teams; `body`: the text below
  std::string body;             // raw JSON whose texts name `{says}`, `{url}`, …
  bool arguments = false;       // values of arguments may be in it
  bool answers = true;          // also what became of an ask
};

struct LimitSettings {
  std::size_t message_bytes = 4U << 20;
  std::size_t result_bytes = 32U << 20;
  std::uint32_t depth = 128;
  std::uint32_t sessions = 10'000;
  std::uint32_t children = 64;
  std::uint32_t waiting_approvals = 1000;
  std::uint32_t calls_in_flight = 1024;  // per gateway; a quarter of it per principal
};

struct Settings {
  std::string file;  // path of sallyport.jsonc; empty: inline (wrap)
  std::map<std::string, ServerSettings> servers;
  std::map<std::string, std::string> vars;
  ListenSettings listen{.port = 8720};
  ListenSettings control{.port = 8721};
  std::vector<ClientSettings> clients;
  std::vector<PersonSettings> people;
  std::vector<NotifySettings> notify;
  bool anonymous = false;
  std::vector<std::string> trust_files;  // absolute paths, in order; or inline text
  std::vector<std::string> policy_files;
  std::string trust_inline, policy_inline;  // raw JSON; empty: none
  std::string lock_file;                    // absolute path of trust.lock.json
  std::string state_dir;                    // absolute
  std::string anchor_file;                  // absolute; at most one of the two
  std::vector<std::string> anchor_command;  // argv; gets each checkpoint on its standard input
  std::vector<std::string> anchor_newest;   // argv; prints the newest checkpoint that the command's place holds
  Millis retention = std::chrono::hours(24 * 400);
  LimitSettings limits;
  // `run`: the `require` rules whose evidence a run needs to be complete; nullopt: runs have no contract.
  std::optional<std::vector<std::string>> run_evidence;
};

}  // namespace sallyport::gateway
