#include "gateway/cli/command_line.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>
#include <sstream>

#include "gateway/cli/verbs.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::cli {
namespace {

constexpr std::string_view kFooter =
    "Exit codes: 0 yes, 1 no, 2 could not. Results go to standard output, everything else to standard error.\n\n"
    "First steps:\n"
    "  sallyport init ~/.config/claude/claude_desktop_config.json\n"
    "  sallyport serve\n"
    "  sallyport approvals watch\n";

// Options of every command that take a value; the search for the verb must step over those.
constexpr std::string_view kWithValue[] = {"--config", "--state", "--token-file", "--url", "--ca-file"};

void add_common(CLI::App& app, Invocation& out) {
  const char* group = "Options of every command";
  app.add_option("--config", out.config, "The config file (default: the user's, then the system's)")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--state", out.state, "The state folder (default: as the config says)")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--url", out.url, "Ask a gateway at this address instead of the one of the state folder")
      ->type_name("URL")
      ->group(group);
  app.add_option("--ca-file", out.ca_file, "Certificates to trust for an https --url")->type_name("FILE")->group(group);
  app.add_option("--token-file", out.token_file, "A file with your token (else SALLYPORT_CONTROL_TOKEN, else `login`)")
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--json", out.json, "Print JSON")->group(group);
  app.add_flag("--verbose", out.verbose, "Say more of what is done")->group(group);
}

// Where the verb stands and what it is; the group's own verb likewise.
struct Words {
  std::vector<std::size_t> places;  // of words that are no options
  bool wants_help = false;          // before any verb, --help or --version
};

Words words_of(const std::vector<std::string>& arguments) {
  Words words;
  for (std::size_t i = 0; i < arguments.size() && words.places.size() < 2; ++i) {
    const std::string& word = arguments[i];
    if (word == "--") break;
    if (!word.starts_with("-") || word == "-") {
      words.places.push_back(i);
    } else if (word == "--help" || word == "-h" || word == "--version") {
      words.wants_help = true;
    } else if (std::ranges::find(kWithValue, word) != std::end(kWithValue)) {
      ++i;
    }
  }
  return words;
}

CLI::App* child(CLI::App& app, const std::string& name) {
  for (CLI::App* sub : app.get_subcommands(nullptr)) {
    if (sub->get_name() == name) return sub;
  }
  return nullptr;
}

std::vector<std::string> names_of(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) names.push_back(sub->get_name());
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

Parsed refuse(const std::string& message, const std::string& remedy) {
  Parsed parsed;
  parsed.exit_code = 2;
  parsed.err = "sallyport: " + message + "\n" + (remedy.empty() ? "" : remedy + "\n");
  return parsed;
}

std::optional<Parsed> unknown_verb(CLI::App& parent, const std::string& prefix, const std::string& word) {
  if (child(parent, word) != nullptr) return std::nullopt;
  const auto names = names_of(parent);
  const auto near = nearest(word, names);
  return refuse(
      "there is no command `" + prefix + visible(word) + "`" + (near ? "; did you mean `" + prefix + *near + "`?" : ""),
      prefix.empty() ? "Run `sallyport --help` for all of them." : "It is one of: " + joined(names));
}

std::optional<Parsed> check_verbs(CLI::App& app, const std::vector<std::string>& arguments, const Words& words) {
  if (words.places.empty()) {
    if (words.wants_help) return std::nullopt;
    Parsed parsed;
    parsed.exit_code = 2;
    parsed.err = app.help();
    return parsed;
  }
  const std::string& verb = arguments[words.places[0]];
  if (auto unknown = unknown_verb(app, "", verb)) return unknown;
  CLI::App& group = *child(app, verb);
  const auto names = names_of(group);
  if (names.empty()) return std::nullopt;
  if (words.places.size() > 1) return unknown_verb(group, verb + " ", arguments[words.places[1]]);
  if (words.wants_help) return std::nullopt;
  return refuse("`" + verb + "` needs one of: " + joined(names), "Run `sallyport " + verb + " --help` for more.");
}

// The deepest command that was given.
const CLI::App* chosen(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return at;
}

std::string full_name(const CLI::App* app) {
  std::string name;
  for (; app != nullptr && app->get_parent() != nullptr; app = app->get_parent()) {
    name = app->get_name() + (name.empty() ? "" : " " + name);
  }
  return name;
}

// What CLI11 cannot say: which options go together.
std::optional<std::string> inconsistent(Invocation& out) {
  if (out.command == Command::stop) {
    if (!out.stop_value.empty() && out.stop_kind == "principal" && !out.server.empty()) {
      return "a stop is of one thing: --principal, or --server with or without --tool";
    }
    if (out.stop_kind == "all" && (!out.server.empty() || !out.stop_value.empty()))
      return "--all stops everything; name nothing else";
    if (!out.tool.empty() && out.server.empty()) return "--tool needs --server";
    if (!out.server.empty()) {
      out.stop_kind = out.tool.empty() ? "server" : "tool";
      out.stop_value = out.server;
    }
    if (!out.id.empty() && (!out.lift || !out.stop_kind.empty())) return "an id goes with --lift alone";
    if (out.lift && out.id.empty() && out.stop_kind.empty()) return "say what to lift: its id, or what it stops";
    if (!out.lift && !out.stop_kind.empty() && out.reason.empty()) return "say why, with --reason";
  }
  if (out.command == Command::wrap && out.words.empty())
    return "say how to start the server, after `--`: sallyport wrap -- CMD…";
  if (out.command == Command::lint && out.words.empty() == out.file.empty())
    return "name one thing to look at: a file, a URL, or a command after `--`";
  if ((out.rotate || out.accept_rollback) && out.reason.empty()) return "say why, with --reason";
  if (!out.proof_file.empty() && (!out.file.empty() || !out.checkpoint_files.empty()))
    return "--proof brings its own receipt and checkpoint; name no log and no --checkpoint";
  if (out.wrapped && out.words.empty()) return "--wrapped needs a command after `--`";
  if (!out.tool.empty() && out.server.empty()) return "a tool needs its server";
  return std::nullopt;
}

Parsed failed(const CLI::App& app, const CLI::ParseError& error) {
  Parsed parsed;
  if (error.get_exit_code() == 0) {  // help, version
    std::ostringstream out, err;
    parsed.exit_code = app.exit(error, out, err);
    parsed.out = out.str();
    return parsed;
  }
  const std::string name = full_name(chosen(app));
  return refuse(visible(error.what()),
                "Run `sallyport " + (name.empty() ? "" : name + " ") + "--help` for what it takes.");
}

}  // namespace

Parsed parse_command_line(std::vector<std::string> arguments) {
  Invocation out;
  CLI::App app("Sallyport: a gateway between agents and their MCP servers.", "sallyport");
  app.footer(std::string(kFooter));
  app.get_formatter()->column_width(34);
  app.set_version_flag("--version", std::string("sallyport ") + SALLYPORT_VERSION);
  app.require_subcommand(1);
  add_common(app, out);
  const std::map<const CLI::App*, Command> commands = add_verbs(app, out);

  const Words words = words_of(arguments);
  if (auto refused = check_verbs(app, arguments, words)) return *refused;
  if (!words.places.empty()) {
    const std::string& verb = arguments[words.places[0]];
    const auto mark = std::ranges::find(arguments, "--");
    if ((verb == "wrap" || verb == "serve" || verb == "lint") && mark != arguments.end()) {
      out.words.assign(mark + 1, arguments.end());
      arguments.erase(mark, arguments.end());
    }
  }
  std::ranges::reverse(arguments);  // CLI11 takes them from the back
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return failed(app, error);
  }
  const CLI::App* verb = chosen(app);
  out.command = commands.at(verb);
  if (auto wrong = inconsistent(out))
    return refuse(*wrong, "Run `sallyport " + full_name(verb) + " --help` for what it takes.");
  Parsed parsed;
  parsed.invocation = std::move(out);
  return parsed;
}

}  // namespace sallyport::gateway::cli
