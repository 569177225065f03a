#include "gateway/relay/tool_list.hpp"

#include <array>

#include "policy/evaluate/evaluate.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::relay {
namespace {

constexpr std::size_t kPage = 1'000;  // few clients follow cursors; a page holds what most gateways have in all
constexpr std::string_view kCursor = "tools/v1\n";  // then the name after which the page begins

bool visible(const Snapshot& snapshot, const ClientContext& client, const Tool& tool) {
  if (tool.state == ToolState::quarantined) return false;
  CallFacts facts;
  facts.principal = &client.principal;
  facts.server = tool.ref.server;
  facts.tool = tool.ref.tool;
  facts.effect = tool.effect.effective;
  facts.pinned = tool.state == ToolState::pinned;
  return !policy::hidden(*snapshot.policy, facts);
}

// The name after which to begin; nullopt: not a cursor of ours.
std::optional<std::string> start_after(json::Value params) {
  const json::Value cursor = params ? params.find("cursor") : json::Value();
  if (!cursor) return std::string();
  if (!cursor.is_string()) return std::nullopt;
  auto text = from_base64url(cursor.string());
  if (!text || !text->starts_with(kCursor)) return std::nullopt;
  return text->substr(kCursor.size());
}

// A member that only legacy clients know.
std::string without_execution(const std::string& tool) {
  constexpr std::array<std::string_view, 1> kLegacy{"execution"};
  if (!tool.contains("\"execution\"")) return tool;
  const auto document = json::Document::parse(tool, {.bytes = tool.size(), .depth = 10'000});
  return document ? mcp::without_members(document->root(), kLegacy) : tool;
}

// Legacy clients know objects only, and some refuse a result without the structured content that a schema promises.
std::string without_foreign_output(const std::string& tool) {
  constexpr std::array<std::string_view, 1> kOutput{"outputSchema"};
  if (!tool.contains("\"outputSchema\"")) return tool;
  const auto document = json::Document::parse(tool, {.bytes = tool.size(), .depth = 10'000});
  if (!document || document->root().find("outputSchema").find("type").equals("object")) return tool;
  return mcp::without_members(document->root(), kOutput);
}

}  // namespace

std::optional<std::string> ToolList::header_fault(const ClientContext& client, json::Value params,
                                                  const mcp::HeaderLookup& find) const {
  const json::Value name = params.find("name");
  if (!name.is_string()) return std::nullopt;
  const auto snapshot = snapshots_.current();
  const Tool* tool = snapshot->find(client.mount.server, name.string());
  const bool declares = tool != nullptr && tool->definition && tool->definition->text().contains("x-mcp-header");
  if (!declares || !visible(*snapshot, client, *tool)) return std::nullopt;
  const auto declared = mcp::param_headers(tool->definition->root().find("inputSchema"));
  if (!declared) return std::nullopt;  // they mean nothing, and clients leave such a tool alone
  return mcp::param_mismatch(*declared, params.find("arguments"), find);
}

Answer ToolList::list(const Inbound& inbound) const {
  const auto after = start_after(inbound.params);
  if (!after)
    return Answer::fail(mcp::code::kInvalidParams, "the cursor is not one of this gateway's; list from the beginning");
  const auto snapshot = snapshots_.current();
  const ClientContext& client = *inbound.client;

  // By the name that the client will call: an order that is the same for every list and every page.
  std::map<std::string_view, const Tool*> tools;
  if (client.mount.all()) {
    for (const auto& [name, tool] : snapshot->exposed) tools.emplace(name, tool.get());
  } else if (const auto server = snapshot->servers.find(client.mount.server); server != snapshot->servers.end()) {
    for (const auto& [name, tool] : server->second.tools) tools.emplace(name, tool.get());
  }

  std::string out = "{\"tools\":[";
  std::size_t count = 0;
  std::string_view last;
  bool more = false;
  for (auto it = after->empty() ? tools.begin() : tools.upper_bound(*after); it != tools.end(); ++it) {
    if (!visible(*snapshot, client, *it->second)) continue;
    if (count == kPage) {
      more = true;
      break;
    }
    if (count++ > 0) out += ',';
    const std::string& listed = client.mount.all() ? it->second->listed_exposed : it->second->listed;
    out += client.era == mcp::Era::modern ? without_execution(listed) : without_foreign_output(listed);
    last = it->first;
  }
  if (!more) {
    for (const std::string& tool : own_) {
      if (count++ > 0) out += ',';
      out += tool;
    }
  }
  out += ']';
  if (more) out += ",\"nextCursor\":" + quote(to_base64url(std::string(kCursor) + std::string(last)));
  return Answer::of(out + "}");
}

}  // namespace sallyport::gateway::relay
