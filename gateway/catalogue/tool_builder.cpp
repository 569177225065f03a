#include "gateway/catalogue/tool_builder.hpp"

#include <fmt/format.h>

#include "gateway/mcp/jsonrpc.hpp"
#include "gateway/mcp/protocol.hpp"
#include "gateway/ports/naming.hpp"
#include "policy/conditions/condition.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/definitions/definition.hpp"
#include "trust/receipts/redaction.hpp"
#include "trust/servers/effective.hpp"

namespace sallyport::gateway::catalogue {
namespace {

constexpr std::string_view kReserved = "sallyport_";

std::shared_ptr<const json::Document> copy(json::Value value) {
  json::Limits limits;
  limits.bytes = value.raw().size();
  limits.depth = 1'000;  // it stands in a document that was judged by the configured depth already
  auto document = json::Document::parse(std::string(value.raw()), limits);
  return document ? std::make_shared<const json::Document>(std::move(*document)) : nullptr;
}

void quarantine(Tool& tool, std::string reason) {
  if (tool.state == ToolState::quarantined) return;  // the first reason stays
  tool.state = ToolState::quarantined;
  tool.quarantine_reason = std::move(reason);
}

// The tool object as clients see it: every member's bytes, but the name that they call and the effective annotations or
// none.
std::string listing(json::Value definition, std::string_view name, const EffectView& view) {
  std::string out = "{\"name\":" + quote(name);
  for (const json::Member member : definition.members()) {
    if (member.key.equals("name") || member.key.equals("annotations") || member.key.equals("execution") ||
        member.key.equals("_meta"))
      continue;
    out += ',';
    out += member.key.raw();
    out += ':';
    out += member.value.raw();
  }
  if (auto annotations = trust::annotations_for_clients(view, definition.find("annotations")))
    out += ",\"annotations\":" + *annotations;
  const bool rated = view.effective.category != EffectCategory::unrated;
  const json::Value meta = definition.find("_meta");
  if (rated || meta) {
    out += ",\"_meta\":" +
           mcp::with_own_meta(meta, mcp::kEffectMeta, rated ? trust::effect_for_clients(view) : std::string());
  }
  return out + "}";
}

std::string task_support(json::Value definition) {
  const json::Value value = definition.at("/execution/taskSupport");
  return value && value.is_string() ? value.string() : std::string();
}

void set_state(Tool& tool, const BuildContext& context, const trust::ServerTrust* server_trust) {
  const trust::LockServer* lock = context.lock && context.identity_ok ? context.lock->server(context.server) : nullptr;
  const auto on_drift = server_trust ? server_trust->on_drift : trust::OnDrift::ask;
  const trust::Judgement judged = trust::judge(lock, tool.offer, tool.ref.tool, tool.current_digest, on_drift);
  switch (judged.state) {
    case trust::DefinitionState::unpinned:
      tool.state = ToolState::unpinned;
      break;
    case trust::DefinitionState::pinned:
      tool.state = ToolState::pinned;
      break;
    case trust::DefinitionState::drifted:
      tool.state = ToolState::drifted;
      break;
    case trust::DefinitionState::quarantined:
      quarantine(tool, "its definition is not one that was accepted; `sallyport trust diff` shows the difference");
      break;
  }
  if (judged.accepted == nullptr) return;
  tool.digest = judged.accepted->digest;
  // Of equal ones the server's own text, whose order of members clients and models see.
  const bool equal = tool.state == ToolState::pinned && (server_trust == nullptr || server_trust->ignore.empty());
  if (!equal) tool.definition = judged.accepted->document;
}

void scan(Tool& tool, const BuildContext& context, const trust::ServerTrust* server_trust,
          const std::vector<trust::TextFinding>& mentions) {
  const json::Value current = tool.current->root();
  const bool is_tool = tool.offer == trust::Offer::tool;
  for (const auto& finding : is_tool ? trust::scan_definition(current) : trust::scan_texts(current))
    tool.findings.push_back(finding.message);
  if (is_tool) {
    const auto [first, last] = context.names.equal_range(tool.ref.tool);
    for (auto it = first; it != last; ++it) tool.findings.push_back(it->second.message);
  }
  for (const trust::TextFinding& finding : mentions) tool.findings.push_back(finding.message);
  if (tool.findings.empty() || tool.state == ToolState::pinned) return;  // pinned: a person saw it, and these with it
  if (server_trust != nullptr && server_trust->on_finding == trust::OnFinding::warn) return;
  quarantine(tool, tool.findings.front() + "; accept it if it is meant to be so");
}

void set_effect(Tool& tool, const BuildContext& context, const trust::ServerTrust* server_trust) {
  const trust::Contract* contract = server_trust ? trust::contract_for(*server_trust, tool.ref.tool) : nullptr;
  const trust::TrustHints honoured = server_trust ? server_trust->trust_hints : trust::TrustHints{};
  const bool pinned = tool.state == ToolState::pinned;
  tool.effect =
      trust::effective(contract, trust::hints_of(tool.definition->root()), honoured, pinned, context.identity_ok);
  if (tool.state == ToolState::drifted) {  // what it says of itself now can tighten, like any hint
    trust::tighten(tool.effect,
                   trust::effective(contract, trust::hints_of(tool.current->root()), {}, false, context.identity_ok));
  }
  if (contract == nullptr) return;
  if (!context.identity_ok) {
    tool.contract = std::make_shared<const trust::Contract>(trust::tightening_part(*contract));
    return;
  }
  tool.contract = std::shared_ptr<const trust::Contract>(context.trust, contract);
  for (const trust::Case& entry : contract->cases) {
    auto text = json::Document::parse(entry.when.text);
    FaultList faults(entry.when.file);
    std::optional<policy::ArgumentConditions> when;
    if (text) {
      when = policy::ArgumentConditions::compile(
          text->root(), policy::CompileContext{.faults = faults, .place = policy::Place::loosening});
    }
    if (!when) {
      const std::string why = faults.all().empty() ? "it is no object" : faults.all().front().message;
      quarantine(tool, fmt::format("a case of its contract cannot be used: {}", why));
      return;
    }
    tool.cases.push_back({std::make_shared<const policy::ArgumentConditions>(std::move(*when)),
                          trust::apply_case(tool.effect, entry.terms)});
  }
}

void set_schemas(Tool& tool, const BuildContext& context, const trust::ServerTrust* server_trust) {
  tool.output_mode = tool.contract ? tool.contract->output : server_trust ? server_trust->output : trust::Output::warn;
  if (!context.identity_ok && tool.output_mode == trust::Output::off) tool.output_mode = trust::Output::warn;
  const bool assert_formats = server_trust != nullptr && server_trust->assert_formats;
  const auto compiled = context.schemas.get(tool.digest, tool.definition->root(), assert_formats);
  if (!compiled->input) {
    quarantine(tool, compiled->input_problem);
    return;
  }
  tool.input = std::shared_ptr<const schema::Schema>(compiled, compiled->input.get());
  if (compiled->output) tool.output = std::shared_ptr<const schema::Schema>(compiled, compiled->output.get());
  tool.output_note = compiled->output_problem;
  tool.write_only = compiled->write_only;
}

// What only tools have.
void finish_tool(Tool& tool, const BuildContext& context, const trust::ServerTrust* server_trust) {
  if (tool.ref.tool.starts_with(kReserved)) quarantine(tool, "names beginning with `sallyport_` are the gateway's own");
  if (task_support(tool.definition->root()) == "required")
    quarantine(tool, "it can only be called as a task, which this gateway does not offer");
  set_effect(tool, context, server_trust);
  set_schemas(tool, context, server_trust);
  if (tool.state == ToolState::quarantined) return;
  tool.listed = listing(tool.definition->root(), tool.ref.tool, tool.effect);
  tool.listed_exposed = listing(tool.definition->root(), tool.exposed, tool.effect);
}

}  // namespace

std::shared_ptr<const SchemaCache::Compiled> SchemaCache::get(const std::string& digest, json::Value definition,
                                                              bool assert_formats) {
  auto& entry = compiled_[assert_formats ? digest + " formats" : digest];
  if (entry) return entry;
  auto made = std::make_shared<Compiled>();
  const schema::CompileOptions options{.assert_formats = assert_formats};
  const json::Value input = definition.find("inputSchema");
  if (!input) {
    made->input_problem = "it has no `inputSchema`";
  } else if (!input.is_object()) {
    made->input_problem = fmt::format("its `inputSchema` must be an object, not {}", json::to_string(input.kind()));
  } else if (auto schema = schema::Schema::compile(input, options)) {
    made->input = std::make_shared<const schema::Schema>(std::move(*schema));
    made->write_only = trust::write_only_patterns(input);
  } else {
    made->input_problem = fmt::format("its inputSchema cannot be used: {}", schema.error().message);
  }
  if (const json::Value output = definition.find("outputSchema")) {
    if (auto schema = schema::Schema::compile(output, options)) {
      made->output = std::make_shared<const schema::Schema>(std::move(*schema));
    } else {
      made->output_problem =
          fmt::format("its outputSchema cannot be used, results are not judged: {}", schema.error().message);
    }
  }
  entry = std::move(made);
  return entry;
}

void SchemaCache::keep_only_used() {
  std::erase_if(compiled_, [](const auto& entry) { return entry.second.use_count() == 1; });
}

std::shared_ptr<const Tool> build_offer(const BuildContext& context, trust::Offer offer, json::Value definition,
                                        const std::vector<trust::TextFinding>& mentions) {
  const auto name = trust::name_of(offer, definition);
  if (!name) return nullptr;  // cannot even be named
  auto tool = std::make_shared<Tool>();
  tool->offer = offer;
  tool->ref = {context.server, *name};
  tool->exposed = exposed_name(context.server, tool->ref.tool);
  tool->current = copy(definition);
  if (!tool->current) return nullptr;
  tool->definition = tool->current;

  const trust::ServerTrust* server_trust = context.trust ? context.trust->server(context.server) : nullptr;
  const std::vector<std::string> ignored = server_trust ? server_trust->ignore : std::vector<std::string>();
  if (auto digest = trust::definition_digest(tool->current->root(), ignored)) {
    tool->current_digest = tool->digest = std::move(*digest);
    set_state(*tool, context, server_trust);
  } else {
    quarantine(*tool, fmt::format("its definition cannot be judged: {}", digest.error().message));
    return tool;
  }
  if (!context.foreign.empty()) quarantine(*tool, context.foreign);
  scan(*tool, context, server_trust, mentions);
  if (offer == trust::Offer::tool) {
    finish_tool(*tool, context, server_trust);
  } else if (tool->state != ToolState::quarantined) {
    tool->listed = tool->definition->root().raw();
  }
  return tool;
}

}  // namespace sallyport::gateway::catalogue
