#include "gateway/app/run.hpp"

#include <csignal>
#include <cstdio>
#include <exception>

#include "gateway/app/local_commands.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/base/log.hpp"
#include "gateway/cli/commands.hpp"
#include "gateway/storage/state_folder.hpp"

namespace sallyport::gateway {
namespace {

int remote(const cli::Invocation& invocation, cli::Terminal& terminal) {
  std::string socket;
  if (invocation.url.empty()) {
    auto folder = state_folder_of(invocation);
    if (!folder)
      return cli::complain(terminal, folder.error().message,
                           "name the config with --config or the state folder with --state");
    socket = *folder + "/control.sock";
  }
  const Environment environment = process_environment();
  const cli::RemoteContext context{socket,
                                   [environment](std::string_view name) { return environment(std::string(name)); },
                                   terminal, system_clock()};
  return cli::run_remote(invocation, context);
}

// Whether an owner runs for this invocation: then it is asked, and nothing is started beside it.
bool has_owner(const cli::Invocation& invocation) {
  if (!invocation.url.empty()) return true;
  auto folder = state_folder_of(invocation);
  return folder && StateFolder::owner(*folder).has_value();
}

int dispatch(const cli::Invocation& invocation, cli::Terminal& terminal) {
  using enum cli::Command;
  switch (invocation.command) {
    case serve:
      return serve_command(invocation, terminal);
    case stdio:
    case wrap:
      return bridge_command(invocation, terminal);
    case check:
      return check_command(invocation, terminal);
    case lint:
      return lint_command(invocation, terminal);
    case init:
      return init_command(invocation, terminal);
    case policy_test:
      return policy_test_command(invocation, terminal);
    case policy_diff:
      return invocation.files.empty() ? remote(invocation, terminal) : policy_diff_command(invocation, terminal);
    case policy_replay:
      return policy_replay_command(invocation, terminal);
    case policy_suggest:
      return policy_suggest_command(invocation, terminal);
    case fingerprint:
      return fingerprint_command(invocation, terminal);
    case token_new:
      return token_new_command(invocation, terminal);
    case receipts_verify:
    case receipts_export:
    case receipts_key:
    case receipts_prove:
    case receipts_duplicates:
      return receipts_command(invocation, terminal);
    case receipts_checkpoint:
      return invocation.accept_rollback || !has_owner(invocation) ? receipts_command(invocation, terminal)
                                                                  : remote(invocation, terminal);
    case tools:
      return invocation.offline || !has_owner(invocation) ? tools_command(invocation, terminal)
                                                          : remote(invocation, terminal);
    case trust_accept:
    case trust_diff:
    case trust_show:
      return invocation.offline || !has_owner(invocation) ? trust_command(invocation, terminal)
                                                          : remote(invocation, terminal);
    case explain:
      return invocation.offline || !has_owner(invocation) ? explain_command(invocation, terminal)
                                                          : remote(invocation, terminal);
    default:
      return remote(invocation, terminal);
  }
}

}  // namespace

int run(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const cli::Parsed parsed = cli::parse_command_line(std::vector<std::string>(argv + 1, argv + argc));
  std::fputs(parsed.out.c_str(), stdout);
  std::fputs(parsed.err.c_str(), stderr);
  if (!parsed.invocation) return parsed.exit_code;
  cli::Terminal& terminal = cli::system_terminal();
  const bool service = parsed.invocation->command == cli::Command::serve;
  log::configure(parsed.invocation->verbose ? log::Level::debug
                 : service                  ? log::Level::info
                                            : log::Level::warning,
                 parsed.invocation->log == "json" ? log::Format::json : log::Format::text);
  try {
    return dispatch(*parsed.invocation, terminal);
  } catch (const std::exception& e) {
    return cli::complain(terminal, std::string("broke: ") + e.what(),
                         "this is a fault of the program; please report it");
  }
}

}  // namespace sallyport::gateway
