#include "gateway/config/starter.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {

namespace {

constexpr std::size_t kShownDescription = 90;

// Foreign text in a `//` comment: one line, nothing hidden, not long.
std::string comment_text(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string line(text.substr(0, std::min<std::size_t>(end, 4 * kShownDescription)));
  if (!valid_utf8(line)) line.clear();  // cut inside a character, or never was text
  std::size_t bytes = 0;
  for (std::size_t shown = 0; bytes < line.size() && shown < kShownDescription; ++shown) {
    ++bytes;
    while (bytes < line.size() && (static_cast<unsigned char>(line[bytes]) & 0xC0U) == 0x80U) ++bytes;
  }
  return bytes < line.size() ? visible(line.substr(0, bytes)) + " …" : visible(line);
}

// Keeps the entry's own lines, moved to the place they stand in now.
std::string indented(const std::string& text, std::string_view indent) {
  std::string out;
  for (const char c : text) {
    if (c == '\r') continue;
    out += c;
    if (c == '\n') out += indent;
  }
  return out;
}

std::string list_of(const std::vector<std::string>& texts) {
  std::string out = "[";
  for (const std::string& text : texts) out += (out.size() > 1 ? ", " : " ") + quote(text);
  return out + (texts.empty() ? "]" : " ]");
}

std::vector<std::string> roles_of(const Person& person) {
  std::vector<std::string> roles;
  if (person.has(Role::approver)) roles.emplace_back("approver");
  if (person.has(Role::operator_)) roles.emplace_back("operator");
  if (person.has(Role::auditor)) roles.emplace_back("auditor");
  if (person.has(Role::watcher)) roles.emplace_back("watcher");
  return roles;
}

std::string_view declared_words(const Hints& hints) {
  if (hints.read_only == true && hints.destructive == true) return "claims to be read-only and destructive at once";
  if (hints.read_only == true) return "says of itself that it only reads";
  if (hints.destructive == true) return "says of itself that it may destroy";
  if (hints.read_only == false) return "says of itself that it changes things";
  return "says nothing of itself";
}

std::string access_text(const Starter& starter) {
  std::string out;
  if (!starter.clients.empty()) {
    out +=
        "\n  // Who may connect. Only the SHA-256 of a token is kept; `sallyport token new` makes one.\n  \"clients\": "
        "[\n";
    for (const ClientSettings& client : starter.clients) {
      out += fmt::format("    {{ \"id\": {}, \"tokenSha256\": {}", quote(client.id), quote(client.token_sha256));
      if (!client.groups.empty()) out += fmt::format(", \"groups\": {}", list_of(client.groups));
      if (!client.owner.empty()) out += fmt::format(", \"owner\": {}", quote(client.owner));
      out += " },\n";
    }
    out += "  ],\n";
  }
  if (starter.people.empty()) return out;
  out += "\n  // Who answers asks and looks after the gateway. No client may have these tokens.\n  \"people\": [\n";
  for (const PersonSettings& person : starter.people) {
    out += fmt::format("    {{ \"id\": {}, \"tokenSha256\": {}, \"roles\": {}", quote(person.person.id),
                       quote(person.token_sha256), list_of(roles_of(person.person)));
    if (!person.person.groups.empty()) out += fmt::format(", \"groups\": {}", list_of(person.person.groups));
    out += " },\n";
  }
  return out + "  ],\n";
}

std::string tool_text(const StarterTool& tool) {
  const std::string said = comment_text(tool.description);
  const std::string_view colon = said.empty() ? "" : ": ";
  if (tool.effect && *tool.effect != EffectCategory::unrated) {
    return fmt::format("        {}: {},  // {}{}{}\n", quote(tool.name), quote(to_string(*tool.effect)),
                       declared_words(tool.declared), colon, said);
  }
  return fmt::format("        // {}: \"…\",  // unrated; {}{}{}\n", visible(quote(tool.name)),
                     declared_words(tool.declared), colon, said);
}

bool has_rated_read(const Starter& starter) {
  return std::any_of(starter.servers.begin(), starter.servers.end(), [](const StarterServer& server) {
    return std::any_of(server.tools.begin(), server.tools.end(),
                       [](const StarterTool& tool) { return tool.effect == EffectCategory::read; });
  });
}

}  // namespace

std::optional<EffectCategory> proposed_effect(const Hints& declared) {
  if (declared.read_only != true || declared.destructive == true) return std::nullopt;
  return EffectCategory::read;
}

std::string starter_settings(const Starter& starter) {
  std::string out =
      "// Configuration of Sallyport, the gateway between agents and their MCP servers.\n"
      "// `sallyport check` finds every fault in this file and the ones it names.\n"
      "{\n"
      "  // The servers, as they stood in the clients' files. What only the gateway knows goes under \"sallyport\" in "
      "an\n"
      "  // entry, like \"sallyport\": { \"shared\": true } for one child process for all clients.\n"
      "  \"mcpServers\": {\n";
  for (const StarterServer& server : starter.servers) {
    if (!server.comment.empty()) out += fmt::format("    // {}\n", comment_text(server.comment));
    out += fmt::format("    {}: {},\n", quote(server.id), indented(server.entry, "    "));
  }
  out += "  },\n";
  if (!starter.vars.empty()) {
    out +=
        "\n  // Values for ${NAME}, here and in the policy file. Secrets belong in the environment.\n  \"vars\": {\n";
    for (const auto& [name, value] : starter.vars) out += fmt::format("    {}: {},\n", quote(name), quote(value));
    out += "  },\n";
  }
  out += access_text(starter);
  out += fmt::format(
      "\n"
      "  // What we believe of which server, and what is let through.\n"
      "  \"trust\": {},\n"
      "  \"policy\": {},\n",
      starter.without_rules ? "{ \"servers\": {} }" : "\"trust.jsonc\"",
      starter.without_rules ? "{ \"default\": \"ask\" }" : "\"policy.jsonc\"");
  out +=
      "\n"
      "  \"listen\": { \"address\": \"127.0.0.1\", \"port\": 8720 },   // clients\n"
      "  \"control\": { \"address\": \"127.0.0.1\", \"port\": 8721 },  // people: console, API, metrics\n";
  if (!starter.state.empty()) out += fmt::format("\n  \"state\": {},  // keys, store, sockets\n", quote(starter.state));
  return out + "}\n";
}

std::string starter_trust(const Starter& starter) {
  std::string out =
      "// What we believe of which server. What servers say of their own tools proves nothing; what stands here "
      "counts.\n"
      "//\n"
      "// The effect of a tool:\n"
      "//   \"read\"      only looks\n"
      "//   \"file\"      changes a file\n"
      "//   \"record\"    changes a record in a database or service of your own\n"
      "//   \"external\"  anything that others see or that costs: a message, money, a deploy, running code\n"
      "// A tool without an entry is unrated: it asks every time. To rate one, take away the `//` and write its "
      "effect.\n"
      "// More can be said of a tool: { \"effect\": \"file\", \"paths\": [ \"/path\" ], \"scope\": \"{/path}\" }.\n"
      "{\n"
      "  \"servers\": {\n";
  for (const StarterServer& server : starter.servers) {
    out += fmt::format("    {}: {{\n      \"tools\": {{\n", quote(server.id));
    if (server.tools.empty())
      out += "        // Its tools are not known yet: `sallyport trust accept` asks the server.\n";
    for (const StarterTool& tool : server.tools) out += tool_text(tool);
    out += "      },\n    },\n";
  }
  return out + "  },\n}\n";
}

std::string starter_policy(const Starter& starter) {
  std::string out =
      "// What is let through. All rules are weighed, order never matters: deny beats ask, ask beats allow, and what "
      "no rule\n"
      "// speaks of gets the default. `sallyport explain SERVER TOOL JSON` says which rules a call meets, and why.\n"
      "{\n"
      "  // What no rule speaks of asks a person.\n"
      "  \"default\": \"ask\",\n"
      "\n"
      "  // Who answers, and how. Without `by` every approver may. With `grants` an answer may also hold for this run "
      "or for a\n"
      "  // while; destructive tools and those labelled money or credentials ask each time all the same.\n"
      "  \"approval\": { \"expires\": \"1h\", \"grants\": true },\n"
      "\n"
      "  \"rules\": [\n"
      "    // Tools that the trust file calls reading are free, on definitions that were accepted.\n";
  const bool reads = has_rated_read(starter);
  if (!reads) out += "    // No tool is rated so yet; take away the `//` when one is.\n";
  out += fmt::format("    {}{{ \"id\": \"reads\", \"allow\": {{ \"effect\": \"read\" }} }},\n", reads ? "" : "// ");
  out +=
      "\n"
      "    // More rules, to be changed and made your own:\n"
      "    // { \"id\": \"no-env\", \"deny\": { \"server\": \"files\", \"paths\": { \"pattern\": \"(.*/)?\\\\.env.*\" "
      "} },\n"
      "    //   \"message\": \"Files named .env are off limits.\" },\n"
      "    // { \"id\": \"project\", \"allow\": { \"server\": \"files\", \"effect\": \"file\", \"paths\": { "
      "\"pathWithin\": \"${project}\" } } },\n"
      "  ],\n"
      "}\n";
  return out;
}

}  // namespace sallyport::gateway
