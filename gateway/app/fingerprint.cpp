#include "gateway/app/fingerprint.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/app/local_commands.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/cli/commands.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/definitions/lock_file.hpp"
#include "trust/servers/identity.hpp"

namespace sallyport::gateway {
namespace bj = boost::json;

namespace {

std::string tagged(std::string_view kind, bj::object value) {
  return trust::tagged_digest(fmt::format("sallyport/fingerprint/{}/v1", kind),
                              json::canonical(bj::value(std::move(value))));
}

bj::object definitions(const trust::LockFile& lock) {
  bj::object servers;
  for (const auto& [id, server] : lock.servers) {
    bj::object tools;
    for (const auto& [name, accepted] : server.tools) {
      bj::array digests;
      for (const trust::Accepted& one : accepted) digests.emplace_back(one.digest);
      tools[name] = std::move(digests);
    }
    servers[id] = bj::object{{"identity", trust::digest(server.identity)}, {"tools", std::move(tools)}};
  }
  return servers;
}

}  // namespace

std::string contract_fingerprint(const Settings& settings, const RuleBook& book) {
  bj::object value{
      {"definitions", definitions(*book.lock)}, {"policy", book.policy_digest}, {"trust", book.trust_digest}};
  if (settings.run_evidence) {
    bj::array evidence;
    for (const std::string& rule : *settings.run_evidence) evidence.emplace_back(rule);
    value["run"] = std::move(evidence);
  }
  return tagged("contract", std::move(value));
}

std::string execution_fingerprint(const std::string& contract, const std::string& version,
                                  const LimitSettings& limits) {
  bj::object bounds{{"callsInFlight", limits.calls_in_flight},
                    {"children", limits.children},
                    {"depth", limits.depth},
                    {"messageBytes", limits.message_bytes},
                    {"resultBytes", limits.result_bytes},
                    {"sessions", limits.sessions},
                    {"waitingApprovals", limits.waiting_approvals}};
  return tagged("execution", {{"contract", contract}, {"limits", std::move(bounds)}, {"version", version}});
}

Result<std::string> request_fingerprint(const std::string& execution, const RuleBook& book,
                                        const std::string& principal, const std::string& server,
                                        const std::string& tool, json::Value arguments) {
  const trust::LockServer* locked = book.lock->server(server);
  const auto accepted = locked == nullptr ? std::span<const trust::Accepted>() : locked->tool(tool);
  if (accepted.empty())
    return fail(ErrorCode::not_found,
                fmt::format("no tool `{}` of a server `{}` was accepted; `sallyport trust show` lists them",
                            visible(tool), visible(server)));
  if (!arguments.is_object()) return fail(ErrorCode::invalid, "the arguments are no JSON object");
  if (const auto mark = arguments.ambiguity())
    return fail(ErrorCode::invalid, fmt::format("the arguments cannot be read in one way at `{}`", mark->pointer));
  return tagged("request", {{"arguments", json::canonical(arguments)},
                            {"definition", accepted.back().digest},
                            {"execution", execution},
                            {"principal", principal},
                            {"server", server},
                            {"tool", tool}});
}

int fingerprint_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  auto request = settings_request(invocation);
  if (!request) return cli::complain(terminal, request.error().message, "name the config with --config");
  const SystemFiles files;
  const LoadedConfig config = load_config(*request, process_environment(), files);
  if (!config.settings || !config.book)
    return cli::complain(terminal, "the files have faults", "`sallyport check` names them");
  bj::object out;
  const std::string contract = contract_fingerprint(*config.settings, *config.book);
  const std::string execution = execution_fingerprint(contract, SALLYPORT_VERSION, config.settings->limits);
  out["contract"] = contract;
  out["execution"] = execution;
  if (!invocation.server.empty()) {
    if (invocation.tool.empty()) return cli::complain(terminal, "a request needs SERVER and TOOL");
    auto text = cli::read_arguments(invocation.arguments, terminal);
    if (!text) return cli::complain(terminal, text.error().message);
    auto arguments = json::Document::parse(text->empty() ? "{}" : *text);
    if (!arguments) return cli::complain(terminal, "the arguments: " + arguments.error().message);
    auto of_request = request_fingerprint(execution, *config.book, invocation.principal, invocation.server,
                                          invocation.tool, arguments->root());
    if (!of_request) return cli::complain(terminal, of_request.error().message);
    out["request"] = *of_request;
  }
  if (invocation.json) {
    terminal.out(json::canonical(bj::value(out)) + "\n");
    return cli::kYes;
  }
  for (const auto& [name, value] : out)
    terminal.out(fmt::format("{:<10} {}\n", std::string_view(name), std::string_view(value.as_string())));
  return cli::kYes;
}

}  // namespace sallyport::gateway
