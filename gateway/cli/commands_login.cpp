// `sallyport login`: keeps a person's token for this gateway, and makes a one-time code for the console.
#include <boost/json.hpp>

#include "gateway/cli/credential.hpp"
#include "gateway/cli/page.hpp"
#include "gateway/cli/qr.hpp"
#include "gateway/cli/remote.hpp"
#include "gateway/cli/render.hpp"

namespace sallyport::gateway::cli {
namespace {

Result<Secret> ask_token(const Invocation& given, const RemoteContext& context, const ControlTarget& target) {
  if (!given.token_file.empty()) return read_token_file(given.token_file);
  Terminal& terminal = context.terminal;
  if (terminal.interactive()) {
    if (auto known = find_credential({}, target.name(), context.environment)) return known;
    terminal.err("token of a person, for " + target.name() + ": ");
  }
  auto line = terminal.read_line(true);
  if (line && !line->empty()) return Secret(std::move(*line));
  return fail(ErrorCode::invalid, "no token was given");
}

// The way into the console without typing the token: by link, by code, or by phone.
std::string way_in(const std::string& json, const ControlTarget& target) {
  const auto root = parse_object(json);
  if (!root) return {};
  const std::string code = text(*root, "code");
  const bool http = target.url.scheme != Url::Scheme::unix_socket;
  const std::string url = http ? target.url.origin() + "/#code=" + code : text(*root, "url");
  std::string out = "console code: " + code + " (once, until " + text(*root, "expires") + ")\n";
  if (!url.empty()) out += url + "\n" + qr_text(url);
  return out;
}

}  // namespace

int login(const Invocation& given, const RemoteContext& context, const ControlTarget& target) {
  Terminal& terminal = context.terminal;
  auto token = ask_token(given, context, target);
  if (!token) return complain(terminal, token.error().message);
  ControlClient client(target, *token);
  auto me = client.get("/api/v1/me");
  if (!me) return complain(terminal, me.error().message);
  const std::string file = credential_file(context.environment);
  if (file.empty()) return complain(terminal, "there is no place to keep it: neither HOME nor XDG_CONFIG_HOME is set");
  if (auto stored = store_credential(file, target.name(), *token); !stored)
    return complain(terminal, stored.error().message);
  auto code = client.post("/api/v1/login/code", "{}");
  if (!code) return complain(terminal, code.error().message);
  terminal.out(given.json ? "{\"console\":" + *code + ",\"me\":" + *me + "}\n"
                          : render_me(*me) + way_in(*code, target));
  terminal.err("kept in " + file + "\n");
  return kYes;
}

}  // namespace sallyport::gateway::cli
