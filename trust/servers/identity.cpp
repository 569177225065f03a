#include "trust/servers/identity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "schemas/core/encoding.hpp"
#include "schemas/core/writer.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

using Kind = Identity::Kind;

// Which text members an identity of a kind has, in canonical order; `needed` ones are never absent.
struct Field {
  std::string_view name;
  std::string Identity::* member;
  unsigned kinds;
  unsigned needed;
};
constexpr unsigned bit(Kind kind) { return 1U << static_cast<unsigned>(kind); }
constexpr unsigned kHttp = bit(Kind::http);
constexpr unsigned kPackage = bit(Kind::package);
constexpr unsigned kImage = bit(Kind::image);
constexpr unsigned kCommand = bit(Kind::command);
constexpr std::array<Field, 10> kFields{{
    {"certificate", &Identity::certificate, kHttp, 0},
    {"command", &Identity::command, kCommand, kCommand},
    {"digest", &Identity::digest, kImage | kCommand, 0},
    {"image", &Identity::image, kImage, kImage},
    {"integrity", &Identity::integrity, kPackage, 0},
    {"package", &Identity::package, kPackage, kPackage},
    {"runner", &Identity::runner, kPackage, kPackage},
    {"script", &Identity::script, kCommand, 0},
    {"url", &Identity::url, kHttp, kHttp},
    {"version", &Identity::version, kPackage, 0},
}};
constexpr std::array<std::string_view, 4> kKinds{"http", "package", "image", "command"};

std::string shown(std::string_view text) { return text.empty() ? "none" : fmt::format("`{}`", visible(text)); }

bool exact_version(std::string_view version) {
  if (version.empty() || version[0] < '0' || version[0] > '9') return false;
  return std::ranges::all_of(version,
                             [](char c) {
                               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                      c == '.' || c == '-' || c == '+' || c == '!';
                             }) &&
         std::ranges::count(version, '.') >= 1 && !version.ends_with(".x");
}

bool on_this_machine(std::string_view url) {
  for (const std::string_view host : {"http://127.0.0.1", "http://localhost", "http://[::1]"}) {
    if (url.starts_with(host) && (url.size() == host.size() || url[host.size()] == ':' || url[host.size()] == '/'))
      return true;
  }
  return false;
}

Result<std::vector<std::string>> parse_spki(json::Value list) {
  std::vector<std::string> out;
  if (!list.is_array() || list.size() == 0) return fail(ErrorCode::invalid, "`spki` is no list of digests");
  for (const auto item : list.elements()) {
    if (!item.is_string() || !is_digest(item.string()))
      return fail(ErrorCode::invalid, "`spki` holds something that is no digest");
    out.push_back(item.string());
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace

std::string_view to_string(Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string canonical(const Identity& identity) {
  json::Writer out;
  out.begin_object();
  const unsigned kind = bit(identity.kind);
  auto spki = identity.spki;
  std::ranges::sort(spki);
  const auto text = [&](std::string_view before, std::string_view from) {
    for (const auto& field : kFields) {
      if (field.name >= from && field.name < before && (field.kinds & kind) != 0)
        out.text(field.name, identity.*field.member);
    }
  };
  text("kind", "");
  out.member("kind", to_string(identity.kind));
  text("spki", "kind");
  if (identity.kind == Kind::http) out.list("spki", spki);
  text("~", "spki");
  return out.end_object().take();
}

std::string digest(const Identity& identity) { return tagged_digest(kIdentityTag, canonical(identity)); }

Result<Identity> parse_identity(json::Value value) {
  if (!value.is_object()) return fail(ErrorCode::invalid, "an identity is an object");
  Identity out;
  const auto kind = value.find("kind");
  const auto* known = std::ranges::find_if(kKinds, [&](std::string_view name) { return kind.equals(name); });
  if (known == kKinds.end())
    return fail(ErrorCode::invalid, "`kind` of an identity is one of http, package, image, command");
  out.kind = static_cast<Kind>(known - kKinds.begin());
  for (const auto member : value.members()) {
    const auto name = member.name();
    if (name == "kind") continue;
    if (name == "spki" && out.kind == Kind::http) {
      auto spki = parse_spki(member.value);
      if (!spki) return fail(spki.error());
      out.spki = std::move(*spki);
      continue;
    }
    const auto* field = std::ranges::find(kFields, std::string_view(name), &Field::name);
    if (field == kFields.end() || (field->kinds & bit(out.kind)) == 0) {
      return fail(ErrorCode::invalid,
                  fmt::format("an identity of kind {} has no `{}`", to_string(out.kind), visible(name)));
    }
    if (!member.value.is_string() || member.value.string().empty()) {
      return fail(ErrorCode::invalid, fmt::format("`{}` of an identity is a text", name));
    }
    out.*field->member = member.value.string();
  }
  for (const auto& field : kFields) {
    if ((field.needed & bit(out.kind)) != 0 && (out.*field.member).empty()) {
      return fail(ErrorCode::invalid,
                  fmt::format("an identity of kind {} needs `{}`", to_string(out.kind), field.name));
    }
  }
  if (!out.digest.empty() && !is_digest(out.digest))
    return fail(ErrorCode::invalid, "`digest` of an identity is no digest");
  return out;
}

std::optional<std::string> mismatch(const Identity& found, const Identity& locked) {
  if (found.kind != locked.kind) {
    return fmt::format("it was accepted as kind {}, found as {}", to_string(locked.kind), to_string(found.kind));
  }
  for (const auto& field : kFields) {
    if ((field.kinds & bit(locked.kind)) == 0) continue;
    // Where keys were asked for, they stand for the certificate.
    if (field.member == &Identity::certificate && !locked.spki.empty()) continue;
    if (found.*field.member != locked.*field.member) {
      return fmt::format("its {} was accepted as {}, found as {}", field.name, shown(locked.*field.member),
                         shown(found.*field.member));
    }
  }
  if (locked.kind == Kind::http && !locked.spki.empty()) {
    const bool common = std::ranges::any_of(
        found.spki, [&](const std::string& key) { return std::ranges::find(locked.spki, key) != locked.spki.end(); });
    if (!common) {
      return fmt::format("its key {} is none of the accepted ones",
                         found.spki.empty() ? "(none)" : shown(found.spki.front()));
    }
  }
  return std::nullopt;
}

Identity with_keys(Identity found, const Identity& locked) {
  const bool same = found.kind == Kind::http && locked.kind == Kind::http && found.url == locked.url;
  if (!same || found.spki.empty() || locked.spki.empty()) return found;
  for (const std::string& key : locked.spki) {
    if (std::ranges::find(found.spki, key) == found.spki.end()) found.spki.push_back(key);
  }
  return found;
}

bool starts_others(std::string_view command) {
  constexpr std::string_view kNames[] = {
      "node",    "nodejs", "bun",    "deno", "tsx",   "ts-node", "ruby",  "perl",  "php",    "bash",
      "dash",    "sh",     "zsh",    "lua",  "java",  "dotnet",  "env",   "nohup", "setsid", "nice",
      "timeout", "sudo",   "xargs",  "ssh",  "uv",    "uvx",     "npx",   "npm",   "pnpm",   "yarn",
      "bunx",    "pipx",   "poetry", "go",   "cargo", "docker",  "podman"};
  const std::string_view name = command.substr(command.rfind('/') + 1);
  return name.starts_with("python") || std::ranges::find(kNames, name) != std::end(kNames);
}

std::optional<std::string> unpinned(const Identity& identity) {
  switch (identity.kind) {
    case Kind::http:
      if (identity.certificate.empty() && identity.spki.empty() && !on_this_machine(identity.url)) {
        return fmt::format("{} is reached without TLS, so anyone on the way can be it", shown(identity.url));
      }
      return std::nullopt;
    case Kind::package:
      if (!exact_version(identity.version)) {
        return fmt::format("the version of {} is {}, no exact one: write {}@1.2.3", shown(identity.package),
                           shown(identity.version), visible(identity.package));
      }
      if (identity.integrity.empty()) return fmt::format("no integrity of {} could be found", shown(identity.package));
      return std::nullopt;
    case Kind::image:
      if (identity.digest.empty())
        return fmt::format("the image {} is named without its digest", shown(identity.image));
      return std::nullopt;
    case Kind::command:
      if (identity.digest.empty()) return fmt::format("no digest of {} could be made", shown(identity.command));
      if (identity.script.empty() && starts_others(identity.command)) {
        return fmt::format("{} only starts what its arguments say, and no file of that could be told: name the script",
                           shown(identity.command));
      }
      return std::nullopt;
  }
  return std::nullopt;
}

std::string describe(const Identity& identity) {
  const auto part = [](std::string_view name, std::string_view text) {
    return text.empty() ? std::string() : fmt::format(" ({} {})", name, visible(text));
  };
  switch (identity.kind) {
    case Kind::http: {
      std::string keys;
      for (const auto& key : identity.spki) keys += part("key", key);
      return visible(identity.url) + (keys.empty() ? part("certificate", identity.certificate) : keys);
    }
    case Kind::package:
      return fmt::format("{} {}{}{}{}", visible(identity.runner), visible(identity.package),
                         identity.version.empty() ? "" : "@", visible(identity.version),
                         part("integrity", identity.integrity));
    case Kind::image:
      return visible(identity.image) + part("digest", identity.digest);
    case Kind::command:
      return visible(identity.command) + (identity.script.empty() ? "" : " ") + visible(identity.script) +
             part("digest", identity.digest);
  }
  return {};
}

}  // namespace sallyport::trust
