// `init`: from clients' config files to the first files of ours, with a person present (design sections 4 and 10).
// Shows what it will write, writes nothing over what is there, changes no client's file.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "gateway/app/credentials.hpp"
#include "gateway/app/local_commands.hpp"
#include "gateway/app/probe.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/app/trust_desk.hpp"
#include "gateway/cli/render.hpp"
#include "gateway/config/client_config.hpp"
#include "gateway/config/locate.hpp"
#include "gateway/config/starter.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/effective.hpp"

namespace sallyport::gateway {
namespace {

struct Written {
  std::string path, text;
  unsigned mode = 0644;
};

// The servers of all named files; the first of a name stays.
Status collect(const std::vector<std::string>& paths, const SystemFiles& files, Starter& starter, std::string& notes) {
  const std::string home = process_environment()("HOME").value_or("/");
  for (const std::string& path : paths) {
    const std::string absolute = std::filesystem::absolute(path).lexically_normal().string();
    auto text = files.read(absolute, kMaxOwnFileBytes);
    if (!text) return fail(text.error());
    auto config = read_client_config(text->bytes, absolute, home);
    if (!config) return fail_in(path, config.error());
    for (const ClientServer& server : config->servers) {
      if (server.is_gateway || server.entry.empty()) {
        notes += fmt::format("  {} of {} is left out{}\n", visible(server.id), path,
                             server.is_gateway ? ": it is Sallyport already" : "");
        continue;
      }
      for (const auto& note : server.notes) notes += fmt::format("  {}: {}\n", visible(server.id), visible(note));
      if (std::ranges::any_of(starter.servers, [&](const StarterServer& known) { return known.id == server.id; })) {
        notes += fmt::format("  {} of {} is left out: there is one of that name already\n", visible(server.id), path);
        continue;
      }
      starter.servers.push_back({server.id, server.entry, fmt::format("from {}", config->client), {}});
    }
    starter.vars.insert(config->vars.begin(), config->vars.end());
  }
  if (starter.servers.empty()) return fail(ErrorCode::not_found, "no server was found in these files");
  return {};
}

// Starts each server once and puts its tools into the starter; the lock holds what was found.
Result<trust::LockFile> look(const SettingsRequest& request, Starter& starter, cli::Terminal& terminal) {
  const SystemFiles files;
  LoadedConfig config = load_config(request, process_environment(), files);
  if (!config.settings || !config.book)
    return fail(ErrorCode::invalid,
                "the config made of these entries has faults:\n" + cli::render_faults(config.faults));
  Result<trust::LockFile> lock = fail(ErrorCode::internal, "nothing was found");
  probe(*config.settings, rules_of(*config.book), [&](auto snapshot, const Servers& servers) {
    for (StarterServer& server : starter.servers) {
      const auto view = snapshot->servers.find(server.id);
      if (view == snapshot->servers.end()) continue;
      if (!view->second.problem.empty())
        terminal.err(fmt::format("  {} could not be listed: {}\n", server.id, visible(view->second.problem)));
      for (const auto& [name, tool] : view->second.tools) {
        const json::Value root = tool->current->root();
        const json::Value description = root.find("description");
        const Hints declared = trust::hints_of(root);
        server.tools.push_back({name, description && description.is_string() ? description.string() : std::string(),
                                declared, proposed_effect(declared)});
      }
    }
    terminal.err(cli::render_trust_review(review(*snapshot, {}, {}).json));
    auto accepted = accept(*snapshot, servers, Acceptance{}, system_clock().now(), {});
    if (accepted) {
      for (const auto& why : accepted->left_out) terminal.err(fmt::format("  left out: {}\n", visible(why)));
      lock = std::move(accepted->lock);
    } else {
      lock = fail(accepted.error());
    }
  });
  return lock;
}

// What a server says of its own tools is no proof: a person who sees the list may take it, nobody else does for them.
std::string tell_claims(Starter& starter, bool take) {
  std::string claims;
  for (StarterServer& server : starter.servers) {
    for (StarterTool& tool : server.tools) {
      if (!tool.effect) continue;
      claims += fmt::format("  {}/{}\n", visible(server.id), visible(tool.name));
      if (!take) tool.effect.reset();
    }
  }
  if (claims.empty()) return claims;
  return (take ? "These tools say of themselves that they only read. trust.jsonc will believe it, and the rule `reads` "
                 "then lets them run unasked; take out, afterwards, what you do not believe:\n"
               : "These tools say of themselves that they only read. Nobody was asked, so they stay unrated and ask "
                 "every time; in trust.jsonc write the effect of those that you believe, and take away the `//` of the "
                 "rule `reads` in policy.jsonc:\n") +
         claims;
}

std::string paste_lines(const std::string& config) {
  const std::string entry = fmt::format(R"({{"command":"sallyport","args":["stdio","--config",{}]}})", quote(config));
  return fmt::format(
      "Put the gateway in front of a client by making it the client's only server:\n"
      "  Claude Desktop, Cursor, Windsurf (mcpServers):  \"sallyport\": {0}\n"
      "  VS Code (servers in mcp.json):                  \"sallyport\": {0}\n"
      "  Claude Code:  claude mcp add sallyport -- sallyport stdio --config {1}\n"
      "and take the servers above out of it: what stays there goes past the gateway.\n",
      entry, config);
}

}  // namespace

int init_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  const SystemFiles files;
  const Environment environment = process_environment();
  std::vector<std::string> paths = invocation.files;
  if (paths.empty()) paths = known_client_files(environment, files);
  if (paths.empty()) return cli::complain(terminal, "no client's config was found", "name one: sallyport init FILE…");
  Starter starter;
  std::string notes;
  if (auto collected = collect(paths, files, starter, notes); !collected)
    return cli::complain(terminal, collected.error().message);

  const std::string config_file =
      invocation.folder.empty()
          ? default_config_file(environment, false)
          : std::filesystem::absolute(invocation.folder).lexically_normal().string() + "/sallyport.jsonc";
  const std::string folder = folder_of(config_file);
  const NewToken owner = new_token(system_entropy());
  constexpr unsigned kAll = 15;
  starter.people.push_back({Person{"owner", kAll, {"owners"}}, owner.sha256});

  terminal.err("Starting each server once to see its tools:\n" + notes);
  SettingsRequest request;
  request.file = config_file;
  request.text = starter_settings(starter);
  request.base = folder;
  request.default_state = default_state_dir(environment, ::geteuid() == 0);
  auto bare = request;
  starter.without_rules = true;
  bare.text = starter_settings(starter);
  starter.without_rules = false;
  auto lock = look(bare, starter, terminal);
  if (!lock) return cli::complain(terminal, lock.error().message);

  terminal.err(tell_claims(starter, !invocation.yes));
  const std::vector<Written> written{{config_file, *request.text, 0600},
                                     {folder + "/trust.jsonc", starter_trust(starter), 0644},
                                     {folder + "/policy.jsonc", starter_policy(starter), 0644},
                                     {folder + "/trust.lock.json", trust::print(*lock), 0644},
                                     {folder + "/owner.token", owner.token + "\n", 0600}};
  for (const Written& file : written) {
    if (files.kind(file.path) != FileReader::Kind::missing) {
      return cli::complain(terminal, fmt::format("`{}` is there already; nothing was written", file.path),
                           "name another folder with --folder");
    }
  }
  std::string plan = "This will write:\n";
  for (const Written& file : written) plan += fmt::format("  {}\n", file.path);
  terminal.err(plan + "and accept the definitions above as they are.\n");
  if (!invocation.yes && !cli::confirm(terminal, "Write them?")) return cli::kNo;
  std::error_code ec;
  if (std::filesystem::create_directories(folder, ec))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ec);
  if (ec) return cli::complain(terminal, fmt::format("the folder `{}` cannot be made: {}", folder, ec.message()));
  for (const Written& file : written) {
    if (auto done = atomic_write(file.path, file.text, file.mode); !done)
      return cli::complain(terminal, done.error().message);
  }
  terminal.out(
      fmt::format("Wrote {}.\nThe credential of `owner`, who answers the asks, is in {}/owner.token: `sallyport login "
                  "--token-file` takes it.\n{}",
                  config_file, folder, paste_lines(config_file)));
  return cli::kYes;
}

}  // namespace sallyport::gateway
