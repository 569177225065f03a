// Server entries: the block of the clients' own files, and what stands under "sallyport" in it.
#include <fmt/core.h>

#include <algorithm>

#include "gateway/config/decoder.hpp"
#include "gateway/config/env_file.hpp"
#include "gateway/net/url.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {

namespace {

constexpr std::size_t kMaxEnvFileBytes = 1U << 20;

// Decodes one entry. What is wrong with the file is an error; what is wrong with the surroundings sets the server
// aside.
class ServerDecoder {
 public:
  ServerDecoder(json::Value entry, Decoder& decoder, ServerSettings& server)
      : entry_(entry), decoder_(decoder), server_(server) {}

  void decode() {
    server_.disabled = Decoder::flag(entry_, "disabled", false);
    warn_of_ignored();
    if (!decode_transport()) return;
    if (server_.transport == ServerSettings::Transport::stdio) decode_stdio();
    if (server_.transport == ServerSettings::Transport::http) decode_http();
    decode_timeout();
    decode_own();
  }

 private:
  void set_aside(json::Value where, const std::string& problem) {
    if (server_.problem.empty()) server_.problem = problem;
    if (server_.disabled) return;  // nobody waits for it
    decoder_.faults.warning(where, fmt::format("the server `{}` is set aside: {}", visible(server_.id), problem));
  }

  std::optional<std::string> text(json::Value value) {
    Expanded expanded = expand_variables(value.string(), &decoder_.vars, decoder_.environment);
    if (expanded.text.find('\0') != std::string::npos) expanded.problem = "a NUL has no place here";
    if (expanded.problem.empty()) return std::move(expanded.text);
    set_aside(value, expanded.problem);
    return std::nullopt;
  }

  std::string path(json::Value object, std::string_view name) {
    const json::Value value = Decoder::member(object, name, json::Kind::string);
    const auto written = value ? text(value) : std::nullopt;
    return written && !written->empty() ? decoder_.path(value, *written) : std::string();
  }

  Millis duration(json::Value object, std::string_view name, Millis otherwise) {
    const json::Value value = Decoder::member(object, name, json::Kind::string);
    const auto written = value ? text(value) : std::nullopt;
    return written ? decoder_.parsed_duration(value, *written, otherwise) : otherwise;
  }

  void warn_of_ignored() {
    for (const std::string_view name : {"autoApprove", "alwaysAllow", "trust"}) {
      if (const json::Value value = entry_.find(name)) {
        decoder_.faults.warning(
            value, fmt::format("`{}` is ignored: what needs no question is said by the policy file", name));
      }
    }
    for (const std::string_view name : {"dev", "gallery", "version"}) {
      if (const json::Value value = entry_.find(name)) {
        decoder_.faults.note(value, fmt::format("`{}` is an editor's and ignored", name));
      }
    }
  }

  bool decode_transport() {
    const json::Value command = entry_.find("command");
    const json::Value url = entry_.find("url");
    if (!command && !url) {
      decoder_.faults.error(entry_, "the server has neither `command` nor `url`: write one");
      return false;
    }
    if (command && url) {
      decoder_.faults.error(entry_, "the server has `command` and `url`: leave one out");
      return false;
    }
    server_.transport = url ? ServerSettings::Transport::http : ServerSettings::Transport::stdio;
    const json::Value type = Decoder::member(entry_, "type", json::Kind::string);
    return !type || decode_type(type);
  }

  bool decode_type(json::Value value) {
    const std::string type = value.string();
    const bool http = server_.transport == ServerSettings::Transport::http;
    if (type == "sse" || type == "ws" || type == "websocket") {
      set_aside(value,
                fmt::format("the transport `{}` is not spoken here: give the server's streamable HTTP address with "
                            "type `http`",
                            type));
      return true;
    }
    const bool says_http =
        type == "http" || type == "streamable-http" || type == "streamableHttp" || type == "streamable_http";
    if (!says_http && type != "stdio") {
      decoder_.faults.error(value, fmt::format("`{}` is no type of server: write stdio or http", visible(type)));
      return false;
    }
    if (says_http != http) {
      decoder_.faults.error(
          value, fmt::format("the type `{}` does not go with `{}`: change one", type, http ? "url" : "command"));
      return false;
    }
    return true;
  }

  void misplaced(std::initializer_list<std::string_view> names, std::string_view with) {
    for (const std::string_view name : names) {
      if (const json::Value value = entry_.find(name)) {
        decoder_.faults.error(value, fmt::format("`{}` does not go with `{}`: leave it out", name, with));
      }
    }
  }

  void decode_stdio() {
    misplaced({"headers"}, "command");
    if (const json::Value value = Decoder::member(entry_, "command", json::Kind::string)) {
      if (const auto command = text(value)) decode_command(value, *command);
    }
    if (const json::Value list = Decoder::member(entry_, "args", json::Kind::array)) {
      for (const json::Value one : list.elements()) {
        if (!one.is_string()) continue;
        if (auto argument = text(one)) server_.args.push_back(std::move(*argument));
      }
    }
    server_.cwd = path(entry_, "cwd");
    decode_env_file();
    decode_env();
  }

  void decode_command(json::Value value, const std::string& command) {
    if (command.empty()) {
      if (value.string().empty()) return;  // reported by the schema
      return set_aside(value, "the command is empty once its variables are replaced");
    }
    if (command == "~" || command.starts_with("~/"))
      return decoder_.faults.error(value, "`~` is not replaced: write ${HOME}");
    // A path counts from the file, a bare name is looked up in PATH when the server starts.
    server_.command = command.find('/') == std::string::npos ? command : resolve_path(decoder_.base, command);
  }

  void decode_env_file() {
    const std::string file = path(entry_, "envFile");
    if (file.empty()) return;
    const json::Value where = entry_.find("envFile");
    const auto read = decoder_.files.read(file, kMaxEnvFileBytes);
    if (!read) return set_aside(where, read.error().message);
    if (!read->others_may_write.empty()) return set_aside(where, fmt::format("`{}` {}", file, read->others_may_write));
    const auto values = parse_env_file(read->bytes);
    if (!values) return set_aside(where, fmt::format("`{}`: {}", file, values.error().message));
    for (const auto& [name, value] : *values) server_.env.insert_or_assign(name, Secret(value));
  }

  void decode_env() {
    const json::Value env = Decoder::member(entry_, "env", json::Kind::object);
    if (!env) return;
    for (const json::Member member : env.members()) {
      const std::string name = member.name();
      if (name.empty() || name.find('=') != std::string::npos || has_hidden(name)) {
        decoder_.faults.error(member.key, fmt::format("`{}` cannot name an environment variable", visible(name)));
        continue;
      }
      if (!member.value.is_string()) continue;
      if (auto value = text(member.value)) server_.env.insert_or_assign(name, Secret(std::move(*value)));
    }
  }

  void decode_http() {
    misplaced({"args", "env", "envFile", "cwd"}, "url");
    if (const json::Value value = Decoder::member(entry_, "url", json::Kind::string)) {
      if (const auto url = text(value)) decode_url(value, *url);
    }
    const json::Value headers = Decoder::member(entry_, "headers", json::Kind::object);
    if (!headers) return;
    std::vector<std::string> seen;
    for (const json::Member member : headers.members()) {
      const std::string name = member.name();
      const std::string lower = fold(name).value_or(name);
      if (const std::string why = bad_header(lower); !why.empty()) {
        decoder_.faults.error(member.key, fmt::format("the header `{}` {}", visible(name), why));
      } else if (std::find(seen.begin(), seen.end(), lower) != seen.end()) {
        decoder_.faults.error(member.key, fmt::format("the header `{}` stands twice: leave one out", name));
      } else {
        decode_header(name, member.value);
      }
      seen.push_back(lower);
    }
  }

  // Neither the value of a variable nor a password or query written in the file may reach a fault.
  void decode_url(json::Value value, const std::string& url) {
    const std::string written = value.string();
    const std::string shown = visible(written.substr(0, written.find_first_of("?#")));
    const auto scheme = url.find("://");
    const auto authority = scheme == std::string::npos
                               ? std::string()
                               : url.substr(scheme + 3, url.find_first_of("/?#", scheme + 3) - scheme - 3);
    if (authority.find('@') != std::string::npos) {
      return decoder_.faults.error(value, "the address holds a user or password: write a credential under `headers`");
    }
    const auto parsed = parse_url(url);
    if (!parsed) {
      return decoder_.faults.error(value,
                                   fmt::format("`{}` is no address that can be used: write http:// or https://, a "
                                               "host, and no fragment",
                                               shown));
    }
    if (parsed->scheme == Url::Scheme::http && !is_loopback(parsed->host)) {
      return decoder_.faults.error(value,
                                   fmt::format("`{}` goes over the network in plain http: write https://", shown));
    }
    server_.url = url;
  }

  // What the gateway writes itself, or what would change the framing.
  static std::string bad_header(std::string_view lower) {
    const bool form = !lower.empty() && std::all_of(lower.begin(), lower.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
             std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
    });
    if (!form) return "is no header name: use letters, digits and `-`";
    for (const std::string_view own : {"host", "connection", "content-length", "content-type", "content-encoding",
                                       "accept", "accept-encoding", "transfer-encoding", "te", "trailer", "upgrade",
                                       "keep-alive", "last-event-id", "expect", "proxy-connection", "origin"}) {
      if (lower == own) return "is set by the gateway: leave it out";
    }
    return lower.starts_with("mcp-") ? "is set by the gateway: leave it out" : "";
  }

  void decode_header(const std::string& name, json::Value value) {
    SecretSource source;
    if (value.is_string()) {
      const auto literal = text(value);
      if (!literal) return;
      const bool bad = std::any_of(literal->begin(), literal->end(),
                                   [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7F; });
      if (bad)
        return set_aside(
            value, fmt::format("the value of the header `{}` holds a line break or another control character", name));
      source.literal = Secret(*literal);
    } else if (value.is_object()) {
      const bool file = static_cast<bool>(value.find("file"));
      if (file == static_cast<bool>(value.find("command"))) {
        return decoder_.faults.error(value, "a header's value is a text, a `file` or a `command`: write one of them");
      }
      source.kind = file ? SecretSource::Kind::file : SecretSource::Kind::command;
      if (!(file ? decode_file(value, source) : decode_header_command(value, source))) return;
    } else {
      return;
    }
    server_.headers.insert_or_assign(name, std::move(source));
  }

  bool decode_file(json::Value value, SecretSource& source) {
    const json::Value file = Decoder::member(value, "file", json::Kind::string);
    const auto written = file ? text(file) : std::nullopt;
    if (!written || written->empty()) return false;
    source.path = decoder_.path(file, *written);
    return !source.path.empty();
  }

  bool decode_header_command(json::Value value, SecretSource& source) {
    const json::Value list = Decoder::member(value, "command", json::Kind::array);
    if (!list) return false;
    for (const json::Value one : list.elements()) {
      const auto word = one.is_string() ? text(one) : std::nullopt;
      if (!word) return false;
      source.command.push_back(*word);
    }
    if (source.command.empty()) return false;
    std::string& program = source.command.front();
    if (program.find('/') != std::string::npos) program = resolve_path(decoder_.base, program);
    return true;
  }

  void decode_timeout() {
    const json::Value value = entry_.find("timeout");
    if (value && value.is_number()) {
      const auto number = value.integer();
      if (!number) return;
      if (*number <= 0 || *number > 86'400'000)
        return decoder_.faults.error(value, "the timeout must lie between 1 and a day: write it like 5m");
      // Some clients count seconds, some milliseconds; this reading fits what people write for both.
      server_.timeout = *number < 1000 ? Millis(*number * 1000) : Millis(*number);
      decoder_.faults.note(value, fmt::format("read as {}: write \"{}\" to be sure", to_text(server_.timeout),
                                              to_text(server_.timeout)));
      return;
    }
    server_.timeout = duration(entry_, "timeout", server_.timeout);
  }

  void decode_own() {
    const json::Value own = Decoder::member(entry_, "sallyport", json::Kind::object);
    if (!own) return;
    server_.shared = Decoder::flag(own, "shared", false);
    if (const json::Value isolate = own.find("isolate")) server_.isolate_session = isolate.equals("session");
    if (const json::Value era = Decoder::member(own, "era", json::Kind::string)) server_.era = era.string();
    server_.spki = Decoder::flag(own, "spki", false);
    server_.start_timeout = duration(own, "startTimeout", server_.start_timeout);
    server_.ca_file = path(own, "caFile");
    const bool http = server_.transport == ServerSettings::Transport::http;
    for (const std::string_view name : {"shared", "isolate"}) {
      if (const json::Value value = own.find(name); value && http) {
        decoder_.faults.error(
            value, fmt::format("`{}` is about child processes and does not go with `url`: leave it out", name));
      }
    }
    for (const std::string_view name : {"caFile", "spki"}) {
      if (const json::Value value = own.find(name);
          value && !server_.url.starts_with("https://") && (!http || !server_.url.empty())) {
        decoder_.faults.error(
            value,
            fmt::format("`{}` is about certificates and goes with an https:// address alone: leave it out", name));
      }
    }
    if (server_.shared && server_.isolate_session) {
      decoder_.faults.error(own, "`shared` and `isolate` contradict each other: leave one out");
    }
  }

  json::Value entry_;
  Decoder& decoder_;
  ServerSettings& server_;
};

std::string bad_server_id(std::string_view id) {
  if (const std::string why = bad_id(id); !why.empty()) return why;
  if (id.size() > 64) return "the server's name is longer than 64 bytes: write a shorter one";
  if (id.find('/') != std::string_view::npos)
    return fmt::format("the server's name `{}` holds a `/`: write another", visible(id));
  return {};
}

}  // namespace

void decode_servers(json::Value root, Decoder& decoder, Settings& settings) {
  for (const std::string_view block : {"mcpServers", "servers"}) {
    const json::Value entries = Decoder::member(root, block, json::Kind::object);
    if (!entries) continue;
    for (const json::Member member : entries.members()) {
      const std::string id = member.name();
      if (const std::string why = bad_server_id(id); !why.empty()) {
        decoder.faults.error(member.key, why);
        continue;
      }
      if (!member.value.is_object()) continue;
      const bool mixed = block == "servers" && settings.servers.contains(id);
      if (mixed)
        decoder.faults.error(member.key,
                             fmt::format("the server `{}` stands in `mcpServers` too: leave one out", visible(id)));
      ServerSettings server;
      server.id = id;
      ServerDecoder(member.value, decoder, server).decode();
      settings.servers.insert_or_assign(id, std::move(server));
    }
  }
}

}  // namespace sallyport::gateway
