// One command on its way to the control side. Internal to cli.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gateway/cli/commands.hpp"
#include "gateway/cli/control_client.hpp"

namespace sallyport::gateway::cli {

struct Remote {
  const Invocation& invocation;
  const RemoteContext& context;
  ControlClient client;

  [[nodiscard]] Terminal& terminal() const { return context.terminal; }
  [[nodiscard]] UnixMillis now() const { return context.clock.now(); }
  // Prints `json` (with --json) or `text`, on stdout.
  void print(const std::string& json, const std::string& text) const;
  // Says what went wrong; kNo where the gateway said no (forbidden, conflict, not_found), else kCouldNot.
  [[nodiscard]] int failed(const Error& error) const;
};

using Members = std::vector<std::pair<std::string, std::string>>;
// An object of texts; empty values are left out.
[[nodiscard]] std::string body_of(const Members& members);

[[nodiscard]] int approvals_list(Remote& remote);
[[nodiscard]] int approvals_show(Remote& remote);
[[nodiscard]] int approvals_watch(Remote& remote);
[[nodiscard]] int approvals_approve(Remote& remote);
[[nodiscard]] int approvals_end(Remote& remote, const std::string& verb);  // deny, revoke

[[nodiscard]] int grants_list(Remote& remote);
[[nodiscard]] int grants_revoke(Remote& remote);
[[nodiscard]] int login(const Invocation& given, const RemoteContext& context, const ControlTarget& target);

[[nodiscard]] int trust_command(Remote& remote);
[[nodiscard]] int stop_command(Remote& remote);
[[nodiscard]] int policy_command(Remote& remote);  // reload, policy accept, policy diff of what waits

}  // namespace sallyport::gateway::cli
