// The verbs that go through the control side: everything but serve, stdio, wrap, init, check, policy test, token new,
// receipts verify, export and key, and what --offline does, which need more than the API and stand in app.
#pragma once

#include <string>

#include "gateway/base/clock.hpp"
#include "gateway/cli/command_line.hpp"
#include "gateway/cli/credential.hpp"
#include "gateway/cli/terminal.hpp"

namespace sallyport::gateway::cli {

struct RemoteContext {
  std::string control_socket;  // of the state folder; used without --url
  GetVariable environment;
  Terminal& terminal;
  const Clock& clock;
};

[[nodiscard]] bool is_remote(Command command);

// Runs it and returns the exit code: 0 yes, 1 no (a denied call, a verdict other than allow, something not accepted),
// 2 could not. With --json, stdout is the API's JSON and a newline.
[[nodiscard]] int run_remote(const Invocation& invocation, const RemoteContext& context);

// Whether this is the review that --shown names, if it names one; else it is said that nothing was accepted.
[[nodiscard]] bool is_shown(const Invocation& given, const std::string& digest, Terminal& terminal);

// The text behind Invocation::arguments (JSON, `-`, `@file`; empty: `{}`), checked to be one JSON object.
[[nodiscard]] Result<std::string> read_arguments(const std::string& arguments, Terminal& terminal);

}  // namespace sallyport::gateway::cli
