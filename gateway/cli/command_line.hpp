// The whole command line as one flat value (design section 10). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/core/time.hpp"

namespace sallyport::gateway::cli {

enum class Command : std::uint8_t {
  init,
  serve,
  stdio,
  wrap,
  check,
  lint,
  tools,
  call,
  explain,
  trust_accept,
  trust_diff,
  trust_show,
  policy_test,
  policy_accept,
  policy_diff,
  policy_replay,
  policy_suggest,
  reload,
  approvals_list,
  approvals_watch,
  approvals_show,
  approvals_approve,
  approvals_deny,
  approvals_revoke,
  grants_list,
  grants_revoke,
  operations_list,
  operations_show,
  operations_resolve,
  receipts_list,
  receipts_show,
  receipts_verify,
  receipts_export,
  receipts_key,
  receipts_prove,
  receipts_open,
  receipts_duplicates,
  receipts_checkpoint,
  show,
  stop,
  status,
  login,
  token_new,
  fingerprint,
};

struct ReceiptQuery {
  std::string operation, principal, server, tool, kind, verdict, effect, outcome;  // empty: any
  std::string since, until;                                                        // as written: times.hpp reads them
};

// Members that a command does not take keep their defaults.
struct Invocation {
  Command command = Command::status;

  // Every command.
  bool json = false;
  bool verbose = false;
  std::string config;  // as written; relative ones count from the working folder
  std::string state;
  std::string token_file;  // of a person; for stdio of a client
  std::string url;         // of the control side, instead of control.sock
  std::string ca_file;     // for an https --url

  // What it is about.
  std::string id;      // of show, approvals, operations, receipts; of a stop to lift
  std::string server;  // also of stdio: that server's own mount
  std::string tool;
  std::string arguments;  // JSON text, `-` (standard input) or `@file`; read_arguments() resolves it
  std::string principal;  // of explain
  std::string reason;
  std::string outcome;                    // of resolve: applied or none
  std::string shown;                      // digest that an approve names
  bool yes = false;                       // do not ask
  bool also = false;                      // of trust accept: beside what is accepted already
  bool report = false;                    // of trust diff: Markdown for the server's owner
  std::string grant_until, grant_within;  // of an approve: also grant the like, until a time, for the run
  std::uint32_t grant_uses = 0;           // at most so many; 0: no bound but the time
  bool offline = false;

  // Lists.
  std::string state_filter;
  std::uint32_t limit = 50;
  ReceiptQuery query;

  // stop
  std::string stop_kind;   // all, principal, server, tool; empty: list them, or lift by id
  std::string stop_value;  // the principal or the server
  bool lift = false;

  // receipts verify, export, lint
  std::string file;  // of verify: `-` is standard input, empty: the state folder's own log; of export: where to; of
                     // lint: a file, `-`, or a server's URL
  std::vector<std::string> key_files, checkpoint_files, checkpoint_key_files;
  bool signatures = true;
  std::string proof_file;  // of verify: a receipt with its proof, instead of a log

  // receipts key, checkpoint
  bool rotate = false;          // a new signing key
  bool checkpoint_key = false;  // the key of checkpoints instead
  bool accept_rollback = false;

  // policy
  bool coverage = false;    // of test: which rules no test touches
  std::string policy_file;  // of replay: the policy to try; a file or a folder
  // of replay and suggest: `file` is a log as `export` writes it, `-`, or empty: the state folder's own

  // init; of policy diff: the old and the new policy
  std::vector<std::string> files;
  std::string folder;  // where to write; empty: the user's config folder

  // lint
  bool call_tools = false;  // those that promise to change nothing
  bool strict = false;      // a warning is a no, too

  // wrap, lint, and serve for wrap: the command and its words
  std::vector<std::string> words;

  // serve
  std::optional<std::uint16_t> port, control_port;
  std::string log = "text";         // text, json
  std::optional<Millis> idle_exit;  // ends itself after so long without a client
  bool client_started = false;      // receipts say `boundary: client-started`
  bool wrapped = false;             // serve the command in `words`, as `wrap` does
};

struct Parsed {
  std::optional<Invocation> invocation;
  // Without one: what to print and to end with (help and version: 0, on out; a wrong line: 2, on err).
  int exit_code = 0;
  std::string out, err;
};

// `arguments`: without the program's name.
[[nodiscard]] Parsed parse_command_line(std::vector<std::string> arguments);

}  // namespace sallyport::gateway::cli
