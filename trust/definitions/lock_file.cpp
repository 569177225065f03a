#include "trust/definitions/lock_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/writer.hpp"
#include "trust/definitions/definition.hpp"

namespace sallyport::trust {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kDefinitionDepth = 1024;

// The lists of a server entry, in the order of the file.
struct Section {
  std::string_view name;
  Offer offer;
  std::string_view key;  // the member of a definition that it stands under; empty: a list without names
};
constexpr Section kSections[] = {{"tools", Offer::tool, "name"},
                                 {"prompts", Offer::prompt, "name"},
                                 {"resourceTemplates", Offer::resource_template, "uriTemplate"},
                                 {"instructions", Offer::instructions, ""}};

Result<std::shared_ptr<const json::Document>> own_copy(json::Value value) {
  json::Limits limits;
  limits.bytes = std::max<std::size_t>(limits.bytes, value.raw().size() * 6 + 16);  // escapes can only shrink; be sure
  limits.depth = kDefinitionDepth;
  auto document = json::Document::parse(json::canonical(value), limits);
  if (!document) return fail(document.error());
  return std::make_shared<const json::Document>(std::move(*document));
}

class Parser {
 public:
  Status parse(json::Value root, LockFile& out) {
    if (!root.is_object()) return bad(root, "a lock file is an object");
    for (const auto member : root.members()) {
      if (!member.key.equals("lockVersion") && !member.key.equals("servers")) return unknown(member);
    }
    const auto version = root.find("lockVersion");
    if (!version.is_number() || version.integer() != static_cast<std::int64_t>(kVersion)) {
      return bad(root, fmt::format("`lockVersion` is {}; this program knows no other", kVersion));
    }
    const auto servers = root.find("servers");
    if (!servers.is_object()) return bad(root, "`servers` is an object");
    for (const auto member : servers.members()) {
      LockServer server;
      if (auto done = parse_server(member.value, server); !done) return done;
      if (!out.servers.emplace(member.name(), std::move(server)).second) return twice(member);
    }
    return {};
  }

 private:
  static std::unexpected<Error> bad(json::Value where, const std::string& message) {
    const auto position = where.position();
    return fail(ErrorCode::invalid, fmt::format("{} at line {}, column {}", message, position.line, position.column));
  }
  static std::unexpected<Error> unknown(const json::Member& member) {
    return bad(member.key, fmt::format("unknown member `{}`", visible(member.name())));
  }
  static std::unexpected<Error> twice(const json::Member& member) {
    return bad(member.key, fmt::format("`{}` stands here twice", visible(member.name())));
  }

  static Status parse_server(json::Value value, LockServer& out) {
    if (!value.is_object()) return bad(value, "a server's entry is an object");
    // First what the digests depend on.
    for (const auto item : value.find("ignored").elements()) {
      if (!item.is_string()) return bad(item, "`ignored` holds JSON Pointers");
      out.ignored.push_back(item.string());
    }
    const auto identity = value.find("identity");
    if (!identity) return bad(value, "`identity` is missing");
    auto parsed = parse_identity(identity);
    if (!parsed) return bad(identity, parsed.error().message);
    out.identity = std::move(*parsed);
    for (const auto member : value.members()) {
      if (auto done = parse_member(member, out); !done) return done;
    }
    return {};
  }

  static Status parse_member(const json::Member& member, LockServer& out) {
    const auto name = member.name();
    if (name == "identity" || name == "ignored") return {};
    if (name == "era") {
      if (!member.value.is_string()) return bad(member.value, "`era` is a text");
      out.era = member.value.string();
      return {};
    }
    const auto* section = std::ranges::find(kSections, std::string_view(name), &Section::name);
    if (section == std::end(kSections)) return unknown(member);
    AcceptedByName& found = out.of(section->offer);
    if (section->key.empty()) return parse_list(member.value, out.ignored, found[{}]);
    if (!member.value.is_object()) return bad(member.value, fmt::format("`{}` is an object", name));
    for (const auto entry : member.value.members()) {
      std::vector<Accepted> list;
      if (auto done = parse_list(entry.value, out.ignored, list); !done) return done;
      const auto fits = [&](const Accepted& one) { return one.definition().find(section->key).equals(entry.name()); };
      if (!std::ranges::all_of(list, fits)) {
        return bad(entry.key,
                   fmt::format("a definition under `{}` has another {}", visible(entry.name()), section->key));
      }
      if (!found.emplace(entry.name(), std::move(list)).second) return twice(entry);
    }
    return {};
  }

  static Status parse_list(json::Value value, std::span<const std::string> ignored, std::vector<Accepted>& out) {
    if (!value.is_array() || value.size() == 0) return bad(value, "accepted definitions are a list");
    for (const auto item : value.elements()) {
      auto entry = parse_accepted(item, ignored);
      if (!entry) return fail(entry.error());
      out.push_back(std::move(*entry));
    }
    return {};
  }

  static Result<Accepted> parse_accepted(json::Value value, std::span<const std::string> ignored) {
    if (!value.is_object()) return bad(value, "an accepted definition is an object");
    Accepted out;
    for (const auto member : value.members()) {
      const auto name = member.name();
      if (name == "definition") continue;
      if (!member.value.is_string()) return bad(member.value, fmt::format("`{}` is a text", visible(name)));
      if (name == "digest") {
        out.digest = member.value.string();
      } else if (name == "by") {
        out.by = member.value.string();
      } else if (name == "at") {
        const auto at = from_utc(member.value.string());
        if (!at) return bad(member.value, "`at` is a time like 2026-11-30T09:14:02.118Z");
        out.at = *at;
      } else {
        return unknown(member);
      }
    }
    const auto definition = value.find("definition");
    if (!definition.is_object() && !definition.is_string()) return bad(value, "`definition` is missing");
    const auto found = definition_digest(definition, ignored);
    if (!found) return bad(definition, found.error().message);
    if (*found != out.digest) {
      const auto position = definition.position();
      return fail(
          ErrorCode::corrupt,
          fmt::format("the definition at line {}, column {} does not have the digest that it stands under: it has {}; "
                      "undo the edit, or accept the server's definition again",
                      position.line, position.column, *found));
    }
    auto copy = own_copy(definition);
    if (!copy) return fail(copy.error());
    out.document = std::move(*copy);
    return out;
  }
};

void print_list(json::Writer& out, const std::vector<Accepted>& list) {
  out.begin_array();
  for (const auto& entry : list) {
    out.begin_object();
    out.member("digest", entry.digest);
    out.text("by", entry.by);
    if (entry.at != 0) out.member("at", to_utc(entry.at));
    out.key("definition").raw(entry.document->text());
    out.end_object();
  }
  out.end_array();
}

void print_server(json::Writer& out, const LockServer& server) {
  out.begin_object();
  out.key("identity").raw(canonical(server.identity));
  out.text("era", server.era);
  out.list("ignored", server.ignored);
  for (const auto& section : kSections) {
    const auto& list = server.of(section.offer);
    if (list.empty()) continue;
    out.key(section.name);
    if (section.key.empty()) {
      print_list(out, list.begin()->second);
      continue;
    }
    out.begin_object();
    for (const auto& [name, accepted] : list) {
      if (accepted.empty()) continue;
      out.key(name);
      print_list(out, accepted);
    }
    out.end_object();
  }
  out.end_object();
}

}  // namespace

std::string_view to_string(Offer offer) {
  switch (offer) {
    case Offer::tool:
      return "tool";
    case Offer::prompt:
      return "prompt";
    case Offer::resource_template:
      return "resource template";
    case Offer::instructions:
      return "instructions";
  }
  return {};
}

std::optional<std::string> name_of(Offer offer, json::Value definition) {
  if (offer == Offer::instructions) return std::string();
  const auto name = definition.find(std::ranges::find(kSections, offer, &Section::offer)->key);
  return name.is_string() ? std::optional(name.string()) : std::nullopt;
}

AcceptedByName LockServer::* LockServer::list_of(Offer offer) {
  switch (offer) {
    case Offer::tool:
      return &LockServer::tools;
    case Offer::prompt:
      return &LockServer::prompts;
    case Offer::resource_template:
      return &LockServer::resource_templates;
    case Offer::instructions:
      return &LockServer::instructions;
  }
  return &LockServer::tools;
}

std::span<const Accepted> LockServer::accepted(Offer offer, std::string_view name) const {
  const auto& list = of(offer);
  const auto found = list.find(name);
  return found == list.end() ? std::span<const Accepted>() : std::span<const Accepted>(found->second);
}

const LockServer* LockFile::server(std::string_view id) const {
  const auto found = servers.find(id);
  return found == servers.end() ? nullptr : &found->second;
}

Result<LockFile> parse_lock(std::string text) {
  json::Limits limits;
  limits.bytes = 256U << 20U;
  limits.depth = kDefinitionDepth + 16;
  const auto document = json::Document::parse(std::move(text), limits);
  if (!document) return fail(document.error());
  LockFile out;
  auto done = Parser().parse(document->root(), out);
  if (!done) return fail(done.error());
  return out;
}

std::string print(const LockFile& lock) {
  json::Writer out;
  out.begin_object().member("lockVersion", kVersion).key("servers").begin_object();
  for (const auto& [id, server] : lock.servers) {
    out.key(id);
    print_server(out, server);
  }
  out.end_object().end_object();
  json::Limits limits;
  limits.bytes = out.text().size();
  limits.depth = 2048;
  const auto document = json::Document::parse(out.take(), limits);
  return json::pretty(document.value().root()) + "\n";
}

Result<Accepted> make_accepted(json::Value definition, std::span<const std::string> ignored, std::string by,
                               UnixMillis at) {
  auto digest = definition_digest(definition, ignored);
  if (!digest) return fail(digest.error());
  auto copy = own_copy(definition);
  if (!copy) return fail(copy.error());
  return Accepted{std::move(*digest), std::move(*copy), std::move(by), at};
}

void accept(std::vector<Accepted>& list, Accepted entry, bool also) {
  if (also) {
    std::erase_if(list, [&](const Accepted& old) { return old.digest == entry.digest; });
  } else {
    list.clear();
  }
  list.push_back(std::move(entry));
}

Result<LockServer> with_ignored(const LockServer& server, std::span<const std::string> ignored) {
  LockServer out = server;
  out.ignored.assign(ignored.begin(), ignored.end());
  for (const Offer offer : kOffers) {
    for (auto& [name, list] : out.of(offer)) {
      for (auto& entry : list) {
        auto digest = definition_digest(entry.definition(), ignored);
        if (!digest) return fail(digest.error());
        entry.digest = std::move(*digest);
      }
    }
  }
  return out;
}

std::string_view to_string(DefinitionState state) {
  switch (state) {
    case DefinitionState::unpinned:
      return "unpinned";
    case DefinitionState::pinned:
      return "pinned";
    case DefinitionState::drifted:
      return "drifted";
    case DefinitionState::quarantined:
      return "quarantined";
  }
  return {};
}

Judgement judge(const LockServer* server, Offer offer, std::string_view name, std::string_view digest,
                OnDrift on_drift) {
  if (digest.empty()) return {DefinitionState::quarantined, nullptr};
  const auto accepted = server == nullptr ? std::span<const Accepted>() : server->accepted(offer, name);
  if (accepted.empty()) {
    const bool added = server != nullptr && on_drift == OnDrift::quarantine;
    return {added ? DefinitionState::quarantined : DefinitionState::unpinned, nullptr};
  }
  const auto equal = std::ranges::find(accepted, digest, &Accepted::digest);
  if (equal != accepted.end()) return {DefinitionState::pinned, &*equal};
  switch (on_drift) {
    case OnDrift::ask:
      return {DefinitionState::drifted, &accepted.back()};
    case OnDrift::quarantine:
      return {DefinitionState::quarantined, nullptr};
    case OnDrift::follow:
      return {DefinitionState::drifted, nullptr};
  }
  return {DefinitionState::quarantined, nullptr};
}

}  // namespace sallyport::trust
