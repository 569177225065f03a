// `check`, `tools`, `trust` and `explain` where no owner runs.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/json.hpp>

#include "gateway/app/desk.hpp"
#include "gateway/app/local_commands.hpp"
#include "gateway/app/lock_turn.hpp"
#include "gateway/app/probe.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/app/trust_desk.hpp"
#include "gateway/cli/commands.hpp"
#include "gateway/cli/render.hpp"
#include "gateway/storage/state_folder.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/definitions/lock_file.hpp"

namespace sallyport::gateway {
namespace bj = boost::json;

namespace {

void look_at(const cli::Invocation& invocation, const LoadedConfig& config, const Look& look) {
  if (invocation.offline) {
    probe_offline(*config.settings, rules_of(*config.book), look);
  } else {
    probe(*config.settings, rules_of(*config.book), look);
  }
}

void print(const cli::Invocation& invocation, cli::Terminal& terminal, const std::string& json,
           const std::string& text) {
  terminal.out(invocation.json ? json + "\n" : text);
}

void warn(Faults& faults, std::string message) {
  Fault fault;
  fault.level = Fault::Level::warning;
  fault.position.line = 0;
  fault.message = std::move(message);
  faults.push_back(std::move(fault));
}

// What the lock or the trust file says of tools that the server does not offer (any more).
void vanished(const Snapshot& snapshot, const ServerView& server, Faults& faults) {
  if (!server.foreign.empty()) return;
  const trust::LockServer* locked = snapshot.lock ? snapshot.lock->server(server.id) : nullptr;
  const trust::ServerTrust* trusted = snapshot.trust ? snapshot.trust->server(server.id) : nullptr;
  for (const trust::Offer offer : trust::kOffers) {
    if (locked == nullptr || !server.whole.contains(offer)) continue;
    for (const auto& [name, accepted] : locked->of(offer)) {
      if (accepted.empty() || server.of(offer).contains(name)) continue;
      warn(faults, fmt::format("server `{}`, {}{}: it was accepted and is not offered any more", server.id,
                               to_string(offer), name.empty() ? "" : " `" + visible(name) + "`"));
    }
  }
  const bool told = locked != nullptr && !locked->tools.empty();  // then that is judged by the lock, also offline
  if (trusted == nullptr || told || !server.whole.contains(trust::Offer::tool)) return;
  for (const trust::Contract& contract : trusted->tools) {
    if (contract.name.ends_with('*') || server.tools.contains(contract.name)) continue;
    warn(faults, fmt::format("server `{}` offers no tool `{}`, of which the trust file has an entry", server.id,
                             visible(contract.name)));
  }
}

// A server that cannot be used is a fault of the surroundings: named, and a `no` of check.
void server_faults(const Snapshot& snapshot, Faults& faults) {
  for (const auto& [id, server] : snapshot.servers) {
    if (const auto loose = loose_identity(server))
      warn(faults, fmt::format("server `{}` is not tied down: {}", id, *loose));
    vanished(snapshot, server, faults);
  }
  for (const std::string& name : snapshot.collisions) {
    warn(faults, fmt::format("{} would both be `{}` at /mcp: neither is offered there",
                             fmt::join(tools_named(snapshot, name), " and "), name));
  }
  for (const auto& [id, server] : snapshot.servers) {
    Fault fault;
    fault.level = Fault::Level::error;
    fault.position.line = 0;
    if (!server.problem.empty()) {
      fault.message = fmt::format("server `{}`: {}", id, server.problem);
      faults.push_back(fault);
    }
    for (const trust::Offer offer : trust::kOffers) {
      for (const auto& [name, tool] : server.of(offer)) {
        if (tool->state != ToolState::quarantined && tool->state != ToolState::drifted) continue;
        fault.level = Fault::Level::warning;
        fault.message =
            fmt::format("server `{}`, {}{}: {}", id, to_string(offer), name.empty() ? "" : " `" + name + "`",
                        tool->state == ToolState::drifted
                            ? "its definition has changed since it was accepted; see `sallyport trust diff`"
                            : tool->quarantine_reason);
        faults.push_back(fault);
      }
    }
  }
}

// Into the lock file as it is at that moment.
Result<AcceptedLock> accept_now(const Settings& settings, const Snapshot& snapshot, const Servers& servers,
                                const cli::Invocation& invocation) {
  const auto turn = LockTurn::now(settings.lock_file);
  if (!turn) return fail(turn.error());
  const SystemFiles files;
  auto on_disk = turn->read(files);
  if (!on_disk) return fail_in("the lock file", on_disk.error());
  auto accepted = accept(snapshot, servers, {invocation.server, invocation.tool, {}, invocation.also},
                         system_clock().now(), *on_disk);
  if (!accepted) return fail(accepted.error());
  if (auto written = turn->write(accepted->lock); !written) return fail(written.error());
  return accepted;
}

}  // namespace

std::optional<LoadedConfig> load_or_complain(const cli::Invocation& invocation, cli::Terminal& terminal) {
  auto request = settings_request(invocation);
  if (!request) {
    cli::complain(terminal, request.error().message, "write one with `sallyport init FILE…`, or name it with --config");
    return std::nullopt;
  }
  const SystemFiles files;
  LoadedConfig config = load_config(*request, process_environment(), files);
  if (config.settings && config.book) return config;
  terminal.err(cli::render_faults(config.faults));
  return std::nullopt;
}

int check_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  auto request = settings_request(invocation);
  if (!request)
    return cli::complain(terminal, request.error().message,
                         "write one with `sallyport init FILE…`, or name it with --config");
  const SystemFiles files;
  LoadedConfig config = load_config(*request, process_environment(), files, CheckOptions{.strict = true});
  if (config.settings && config.book && !invocation.offline) {
    probe(*config.settings, rules_of(*config.book),
          [&](auto snapshot, const Servers&) { server_faults(*snapshot, config.faults); });
  }
  if (config.settings && config.book && invocation.offline) {
    for (const auto& [id, locked] : config.book->lock->servers) {
      const auto loose = trust::unpinned(locked.identity);
      if (loose && config.settings->servers.contains(id))
        warn(config.faults, fmt::format("server `{}` is not tied down: {}", id, *loose));
    }
  }
  if (invocation.json) {
    terminal.out(cli::faults_json(config.faults));
  } else if (!config.faults.empty()) {
    terminal.out(cli::render_faults(config.faults));
  }
  const bool good = config.ok() && !has_errors(config.faults);
  if (good && !invocation.json) terminal.out("The config is good.\n");
  return good ? cli::kYes : cli::kNo;
}

int tools_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  const auto config = load_or_complain(invocation, terminal);
  if (!config) return cli::kCouldNot;
  const std::string& only = invocation.server;
  if (!only.empty() && !config->settings->servers.contains(only)) {
    std::vector<std::string> known;
    for (const auto& [id, server] : config->settings->servers) known.push_back(id);
    terminal.err("sallyport: there is no server `" + visible(only) + "`" + did_you_mean(only, known) + "\n");
    return cli::kNo;
  }
  look_at(invocation, *config, [&](auto snapshot, const Servers&) {
    const std::string json = tools_json(*snapshot);
    print(invocation, terminal, json, cli::render_tools(json, invocation.server));
  });
  return cli::kYes;
}

int explain_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  const auto config = load_or_complain(invocation, terminal);
  if (!config) return cli::kCouldNot;
  auto arguments = cli::read_arguments(invocation.arguments, terminal);
  if (!arguments) return cli::complain(terminal, arguments.error().message);
  int code = cli::kCouldNot;
  look_at(invocation, *config, [&](auto snapshot, const Servers&) {
    const std::string json = explain_on(std::move(snapshot), *config->settings, invocation.principal, invocation.server,
                                        invocation.tool, *arguments);
    print(invocation, terminal, json, cli::render_explanation(json));
    boost::system::error_code ec;
    const bj::value root = bj::parse(json, ec);
    const auto* verdict = !ec && root.is_object() ? root.as_object().if_contains("verdict") : nullptr;
    code = verdict != nullptr && *verdict == "allow" ? cli::kYes : cli::kNo;
  });
  return code;
}

// Without an owner, whoever may write the lock may accept (design section 4).
int trust_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  const auto config = load_or_complain(invocation, terminal);
  if (!config) return cli::kCouldNot;
  int code = cli::kYes;
  look_at(invocation, *config, [&](auto snapshot, const Servers& servers) {
    const TrustReview found = review(*snapshot, invocation.server, invocation.tool);
    const bool accepting = invocation.command == cli::Command::trust_accept;
    if (!accepting) {
      print(invocation, terminal, found.json,
            invocation.report ? cli::render_trust_report(found.json)
                              : cli::render_trust_review(found.json, invocation.command == cli::Command::trust_show));
      if (invocation.command == cli::Command::trust_diff) code = found.open == 0 ? cli::kYes : cli::kNo;
      return;
    }
    if (!invocation.json) terminal.err(cli::render_trust_review(found.json));
    if (!cli::is_shown(invocation, found.digest, terminal)) {
      code = cli::kNo;
      return;
    }
    if (found.open == 0) {
      print(invocation, terminal, R"({"accepted":[],"leftOut":[]})", "nothing to accept\n");
      return;
    }
    if (!invocation.yes && invocation.shown.empty() && !cli::confirm(terminal, "Accept these definitions?")) {
      code = cli::kNo;
      return;
    }
    auto accepted = accept_now(*config->settings, *snapshot, servers, invocation);
    if (!accepted) {
      code = cli::complain(terminal, accepted.error().message);
      return;
    }
    bj::array names, left_out;
    for (const auto& name : accepted->accepted) names.emplace_back(visible(name));
    for (const auto& why : accepted->left_out) left_out.emplace_back(visible(why));
    const std::string json =
        json::canonical(bj::value(bj::object{{"accepted", std::move(names)}, {"leftOut", std::move(left_out)}}));
    print(invocation, terminal, json, cli::render_accepted(json));
  });
  return code;
}

}  // namespace sallyport::gateway
