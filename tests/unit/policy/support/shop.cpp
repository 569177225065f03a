#include "tests/unit/policy/support/shop.hpp"

#include <algorithm>

namespace sallyport::policy::test {
namespace {

Effect effect(EffectCategory category, bool destructive = false, std::vector<std::string> labels = {}) {
  return Effect{.category = category, .destructive = destructive, .repeat = Repeat::never, .labels = std::move(labels)};
}

}  // namespace

Shop::Shop() {
  vocabulary.variables = {{"project", "/home/me/project"}, {"dot", "a.b"}};
  vocabulary.principals = {
      Principal{.id = "agent:ci", .groups = {"agents", "support"}, .owner = "user:dana", .anonymous = false},
      Principal{.id = "agent:two", .groups = {"agents"}, .owner = {}, .anonymous = false}};
  const unsigned approver = static_cast<unsigned>(Role::approver);
  vocabulary.people = {Person{.id = "user:dana", .roles = approver, .groups = {"owners", "payments"}},
                       Person{.id = "user:kim", .roles = approver, .groups = {"payments"}}};
  vocabulary.servers.resize(4);
  VocabularyServer& files = vocabulary.servers[0];
  files.id = "files";
  files.accepted = true;
  add_tool(
      files, "read_file", effect(EffectCategory::read),
      R"({"type":"object","properties":{"path":{"type":"string"},"head":{"type":"integer","default":10}},"required":["path"]})",
      {"/path"});
  add_tool(
      files, "read_many", effect(EffectCategory::read),
      R"({"type":"object","properties":{"paths":{"type":"array","items":{"type":"string"}}},"required":["paths"]})",
      {"/paths/*"});
  add_tool(
      files, "write_file", effect(EffectCategory::file, true),
      R"({"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]})",
      {"/path"});
  add_tool(files, "list", effect(EffectCategory::read),
           R"({"type":"object","properties":{"path":{"type":"string","default":"/"}}})", {"/path"});
  add_tool(files, "odd", Effect{}, R"({"type":"object","properties":{"x":{"type":"string"}}})");
  VocabularyServer& orders = vocabulary.servers[1];
  orders.id = "orders";
  orders.accepted = true;
  add_tool(orders, "get_order", effect(EffectCategory::read),
           R"({"type":"object","properties":{"order_id":{"type":"string"}},"required":["order_id"]})");
  add_tool(orders, "refund", effect(EffectCategory::record, true, {"money"}),
           R"({"type":"object","properties":{"order_id":{"type":"string"},"amount":{"type":"number"},
               "currency":{"type":"string","enum":["EUR","USD"]},"note":{"type":"string"},"fast":{"type":"boolean","default":false},
               "url":{"type":"string"},"lines":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"},"n":{"type":"integer"}}}},
               "to":{"type":"object","properties":{"iban":{"type":"string"},"name":{"type":"string","default":"me"}}}},
               "required":["order_id","amount"]})");
  add_tool(orders, "check_config", effect(EffectCategory::read), R"({"type":"object"})");
  vocabulary.servers[2].id = "export";
  VocabularyServer& limits = vocabulary.servers[3];
  limits.id = "limits";
  limits.accepted = true;
  add_tool(
      limits, "limited", effect(EffectCategory::external),
      R"({"type":"object","properties":{"n":{"type":"number","minimum":1,"maximum":10},"list":{"type":"array","maxItems":3},
          "env":{"type":"string","default":"prod"},"to":{"type":"object","properties":{"env":{"type":"string","default":"eu"}}}}})");
}

void Shop::add_tool(VocabularyServer& server, std::string name, Effect effect, const std::string& schema,
                    std::vector<std::string> paths) {
  const json::Document& document = parse(schema);
  auto compiled = schema::Schema::compile(document.root());
  if (!compiled) throw std::runtime_error(compiled.error().message);
  schemas_.push_back(std::make_unique<const schema::Schema>(std::move(*compiled)));
  VocabularyTool tool;
  tool.name = std::move(name);
  tool.effect = std::move(effect);
  tool.paths = std::move(paths);
  tool.input_schema = document.root();
  tool.schema = schemas_.back().get();
  server.tools.push_back(std::move(tool));
}

const json::Document& Shop::parse(std::string text) {
  auto document =
      json::Document::parse(std::move(text), json::Limits{.bytes = 64U << 20, .depth = 128, .comments = true});
  if (!document) throw std::runtime_error(document.error().message);
  documents_.push_back(std::make_unique<const json::Document>(std::move(*document)));
  return *documents_.back();
}

LoadedPolicy Shop::load(std::string text, bool idle_is_error) {
  return policy::load(parse(std::move(text)), "policy.jsonc", vocabulary,
                      LoadOptions{.digest = "sha256:00", .idle_is_error = idle_is_error});
}

std::shared_ptr<const Policy> Shop::policy(std::string text) {
  LoadedPolicy loaded = load(std::move(text));
  if (!loaded.ok()) throw std::runtime_error(text_of(loaded.faults));
  return loaded.policy;
}

CallFacts Shop::facts(const Call& call) {
  calls_.push_back(std::make_unique<Call>(call));
  const Call& kept = *calls_.back();
  Principal principal{
      .id = kept.principal, .groups = {}, .owner = {}, .anonymous = kept.principal.starts_with("anonymous:")};
  const auto known = std::ranges::find(vocabulary.principals, kept.principal, &Principal::id);
  if (known != vocabulary.principals.end()) principal = *known;
  principals_.push_back(std::make_unique<Principal>(std::move(principal)));
  CallFacts out;
  out.principal = principals_.back().get();
  out.method = kept.method;
  out.server = kept.server;
  out.tool = kept.tool;
  out.uri = kept.uri;
  out.pinned = kept.pinned;
  out.arguments = parse(kept.arguments).root();
  if (kept.method != Method::tools_call) {
    out.effect = effect(EffectCategory::read);
    return out;
  }
  const VocabularyServer* server = vocabulary.server(kept.server);
  const VocabularyTool* tool = server == nullptr ? nullptr : server->tool(kept.tool);
  if (tool == nullptr) return out;
  out.effect = tool->effect;
  paths_.push_back(std::make_unique<std::vector<std::string>>(tool->paths));
  out.paths = *paths_.back();
  out.input_schema = tool->input_schema;
  return out;
}

Decision Shop::decide(const std::string& policy_text, const Call& call) {
  return evaluate(*policy(policy_text), facts(call));
}

std::vector<std::string> ids(const Decision& decision) {
  std::vector<std::string> out;
  for (const MatchedRule& rule : decision.rules) out.push_back(rule.id);
  return out;
}

std::string text_of(const Faults& faults) {
  std::string out;
  for (const Fault& fault : faults) out += to_text(fault) + "\n";
  return out;
}

}  // namespace sallyport::policy::test
