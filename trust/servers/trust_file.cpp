#include "trust/servers/trust_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/servers/contract_reader.hpp"
#include "trust/servers/reader.hpp"

namespace sallyport::trust {
namespace {

constexpr Words kPermissionHints{"readOnlyHint", "destructiveHint"};
constexpr Words kRetryHints{"idempotentHint", "readOnlyHint"};

// Calls `use` with the index of each word of a list.
template <class Use>
void each_word(json::Value list, std::string_view name, Words words, FaultList& faults, Use use) {
  if (!list) return;
  if (!list.is_array()) {
    faults.error(list, fmt::format("`{}` is a list of {}", name, one_of(words)));
    return;
  }
  for (const auto item : list.elements()) {
    const auto word = read_word(item, words, fmt::format("an entry of `{}`", name), faults);
    if (word) use(*word);
  }
}

TrustHints read_hints(json::Value value, FaultList& faults) {
  TrustHints out;
  if (!value) return out;
  const ObjectReader entry(value, "`trustHints`", faults, {"permission", "retry"});
  if (!entry.usable()) return out;
  each_word(entry.get("permission"), "permission", kPermissionHints, faults,
            [&](std::size_t i) { (i == 0 ? out.read_only : out.destructive) = true; });
  each_word(entry.get("retry"), "retry", kRetryHints, faults,
            [&](std::size_t i) { (i == 0 ? out.retry_idempotent : out.retry_read_only) = true; });
  return out;
}

Passes read_passes(json::Value value, FaultList& faults) {
  Passes out;
  each_word(value, "passes", {"elicitation", "sampling", "roots"}, faults, [&](std::size_t i) {
    (i == 0 ? out.elicitation : i == 1 ? out.sampling : out.roots) = true;
  });
  return out;
}

std::vector<std::string> read_spki(const ObjectReader& entry) {
  std::vector<std::string> out;
  const auto list = entry.texts("spki");
  if (!list) return out;
  if (list->empty()) entry.faults().error(entry.get("spki"), "`spki` is empty; name one key or two");
  for (const auto item : entry.get("spki").elements()) {
    if (!item.is_string()) continue;
    if (is_digest(item.string())) {
      out.push_back(item.string());
    } else {
      entry.faults().error(item, "a key is named by `sha256:` and 64 hex digits of its SubjectPublicKeyInfo");
    }
  }
  return out;
}

// A `*` is only allowed at the end of a name.
void read_tools(const std::string& file, json::Value value, ServerTrust& server, FaultList& faults) {
  if (!value) return;
  if (!value.is_object()) {
    faults.error(value, "`tools` is an object: names of tools, prefixes with `*` at the end, or `*`");
    return;
  }
  std::set<std::string, std::less<>> seen;
  for (const auto member : value.members()) {
    const auto name = member.name();
    const auto star = name.find('*');
    if (name.empty() || (star != std::string::npos && star + 1 != name.size())) {
      faults.error(member.key, fmt::format("`{}` is no name of a tool; a `*` stands at the end only", visible(name)));
    }
    if (!seen.insert(name).second) {
      faults.error(member.key, fmt::format("`{}` stands here twice; remove one", visible(name)));
      continue;
    }
    server.tools.push_back(read_contract(file, name, member.value, server.output, faults));
  }
}

ServerTrust read_server(const std::string& file, const std::string& id, json::Value value, FaultList& faults) {
  ServerTrust out;
  out.id = id;
  const ObjectReader entry(
      value, "a server's entry", faults,
      {"trustHints", "onDrift", "onFinding", "formats", "output", "passes", "ignore", "spki", "tools"});
  if (!entry.usable()) return out;
  out.trust_hints = read_hints(entry.get("trustHints"), faults);
  const auto drift = entry.word("onDrift", {"ask", "quarantine", "follow"});
  if (drift) out.on_drift = static_cast<OnDrift>(*drift);
  const auto finding = entry.word("onFinding", {"quarantine", "warn"});
  if (finding) out.on_finding = static_cast<OnFinding>(*finding);
  out.assert_formats = entry.word("formats", {"annotate", "assert"}) == 1U;
  const auto output = entry.word("output", {"warn", "enforce", "off"});
  if (output) out.output = static_cast<Output>(*output);
  out.passes = read_passes(entry.get("passes"), faults);
  out.ignore = entry.pointers("ignore");
  for (const auto& pointer : out.ignore) {
    // What names or shapes a tool is never left out of its digest.
    for (const std::string_view kept : {"/name", "/inputSchema", "/description", "/annotations"}) {
      if (pointer == kept) faults.error(entry.get("ignore"), fmt::format("`{}` cannot be ignored", kept));
    }
  }
  out.spki = read_spki(entry);
  read_tools(file, entry.get("tools"), out, faults);
  return out;
}

void read_source(const TrustSource& source, TrustFile& out, FaultList& faults) {
  const ObjectReader top(source.root, "a trust file", faults, {"$schema", "servers"});
  if (!top.usable()) return;
  const auto servers = top.get("servers");
  if (!servers) return;
  if (!servers.is_object()) {
    faults.error(servers, "`servers` is an object: ids of servers and what is believed of them");
    return;
  }
  for (const auto member : servers.members()) {
    const auto id = member.name();
    if (out.servers.contains(id)) {
      faults.error(member.key,
                   fmt::format("the server `{}` stands in the trust files twice; join the two entries", visible(id)));
      continue;
    }
    out.servers.emplace(id, read_server(source.file, id, member.value, faults));
  }
}

}  // namespace

std::string_view to_string(OnDrift value) {
  switch (value) {
    case OnDrift::ask:
      return "ask";
    case OnDrift::quarantine:
      return "quarantine";
    case OnDrift::follow:
      return "follow";
  }
  return {};
}

const ServerTrust* TrustFile::server(std::string_view id) const {
  const auto found = servers.find(id);
  return found == servers.end() ? nullptr : &found->second;
}

LoadedTrust load_trust(std::span<const TrustSource> sources) {
  LoadedTrust out;
  TrustFile file;
  std::string texts;
  for (const auto& source : sources) {
    FaultList faults(source.file);
    read_source(source, file, faults);
    if (source.root) texts += json::canonical(source.root) + "\n";
    auto found = faults.take();
    std::ranges::move(found, std::back_inserter(out.faults));
  }
  file.digest = tagged_digest(kTrustTag, texts);
  if (!has_errors(out.faults)) out.file = std::move(file);
  return out;
}

LoadedTrust load_trust(const json::Document& document, std::string file) {
  const TrustSource source{std::move(file), document.root()};
  return load_trust(std::span(&source, 1));
}

const Contract* contract_for(const ServerTrust& server, std::string_view tool) {
  const Contract* best = nullptr;
  std::size_t length = 0;
  for (const auto& contract : server.tools) {
    if (contract.name == tool) return &contract;
    if (!contract.name.ends_with('*')) continue;
    const auto prefix = std::string_view(contract.name).substr(0, contract.name.size() - 1);
    if (tool.starts_with(prefix) && (best == nullptr || prefix.size() > length)) {
      best = &contract;
      length = prefix.size();
    }
  }
  return best;
}

const Contract* contract_for(const TrustFile& file, std::string_view server, std::string_view tool) {
  const auto* entry = file.server(server);
  return entry == nullptr ? nullptr : contract_for(*entry, tool);
}

}  // namespace sallyport::trust
