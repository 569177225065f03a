#include "gateway/app/lint_call.hpp"

#include <fmt/format.h>

#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdlib>
#include <filesystem>

#include "gateway/calls/calls.hpp"
#include "gateway/storage/sqlite_store.hpp"
#include "policy/evaluate/load.hpp"
#include "policy/rules/vocabulary.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/identity.hpp"

namespace sallyport::gateway {
namespace {

constexpr auto kCall = std::chrono::seconds(30);
constexpr const char* kPolicy = R"({"default":"deny","rules":[{"id":"lint","allow":{"effect":"read"}}]})";

// Removes itself with all that is in it.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "sallyport-lint-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class NoChannel final : public ClientChannel {
 public:
  void notify(std::string_view, std::string_view) override {}
  [[nodiscard]] bool open() const override { return true; }
};

// The tools are accepted as they are, and are reads because they say so.
Result<catalogue::Rules> rules_for(const std::string& found, const std::string& id,
                                   const std::vector<json::Value>& tools) {
  auto lock = std::make_shared<trust::LockFile>();
  trust::LockServer& locked = lock->servers[id];
  auto identity_text = json::Document::parse(found);
  if (!identity_text) return fail_in("the server's identity", identity_text.error());
  auto identity = trust::parse_identity(identity_text->root());
  if (!identity) return fail_in("the server's identity", identity.error());
  locked.identity = *identity;
  std::string trust;
  for (const json::Value tool : tools) {
    auto accepted = trust::make_accepted(tool, {}, {}, 0);
    if (!accepted) return fail(accepted.error());
    const std::string name = tool.find("name").string();
    trust::accept(locked.tools[name], std::move(*accepted), false);
    trust += fmt::format(R"({}{}:{{"effect":"read","output":"off"}})", trust.empty() ? "" : ",", quote(name));
  }
  auto trust_text = json::Document::parse(fmt::format(R"({{"servers":{{{}:{{"tools":{{{}}}}}}}}})", quote(id), trust));
  if (!trust_text) return fail(trust_text.error());
  auto trusted = trust::load_trust(*trust_text, "lint");
  if (!trusted.file) return fail(ErrorCode::internal, to_text(trusted.faults.front()));
  auto policy_text = json::Document::parse(kPolicy);
  auto policy = policy::load(*policy_text, "lint", policy::Vocabulary{});
  if (!policy.policy) return fail(ErrorCode::internal, to_text(policy.faults.front()));
  catalogue::Rules rules;
  rules.trust = std::make_shared<const trust::TrustFile>(std::move(*trusted.file));
  rules.trust_digest = rules.trust->digest;
  rules.policy = policy.policy;
  rules.policy_digest = policy.policy->digest;
  rules.lock = std::move(lock);
  return rules;
}

Inbound request(const std::string& id, const std::string& tool, ClientChannel& channel) {
  auto client = std::make_shared<ClientContext>();
  client->principal.id = "gateway";
  client->mount.server = id;
  client->session = "se_lint";
  client->run = "run_lint";
  client->protocol_version = "2025-11-25";
  client->transport = "stdio";
  client->boundary = "client-started";
  client->claimed_name = "sallyport lint";
  Inbound inbound;
  inbound.client = std::move(client);
  auto document = json::Document::parse(fmt::format(R"({{"name":{},"arguments":{{}}}})", quote(tool)));
  inbound.document = std::make_shared<const json::Document>(std::move(*document));
  inbound.params = inbound.document->root();
  inbound.method = "tools/call";
  inbound.channel = &channel;
  inbound.cancel = std::make_shared<Cancel>();
  inbound.received = system_clock().now();
  return inbound;
}

LintFinding not_judged(json::Value tool, std::string why) {
  return {LintFinding::Level::warning,
          "call-failed",
          tool.find("name").string(),
          {},
          "its result could not be judged: " + why,
          tool.position()};
}

LintFindings judge(json::Value tool, const Answer& answer) {
  if (answer.error) return {not_judged(tool, visible(answer.error->message))};
  auto document = json::Document::parse(answer.result, {.bytes = answer.result.size(), .depth = 1'000});
  if (!document) return {not_judged(tool, document.error().message)};
  const json::Value result = document->root();
  const json::Value failed = result.find("isError");
  if (!failed || !failed.is_bool() || !failed.boolean()) return lint_result(tool, result);
  const json::Value text = result.at("/content/0/text");
  const std::string words = text && text.is_string() ? text.string() : std::string("it answered with an error");
  const json::Value code = result.find("_meta").find("dev.sallyport/call").find("code");
  if (code && code.equals("RESULT_WITHHELD"))
    return {{LintFinding::Level::error, "result", tool.find("name").string(), {}, visible(words), tool.position()}};
  return {not_judged(tool, visible(words))};
}

}  // namespace

asio::awaitable<Result<LintCalls>> lint_calls(catalogue::Catalogue& catalogue, Servers& servers, std::string id,
                                              std::vector<json::Value> tools) {
  const auto loop = co_await asio::this_coro::executor;
  auto rules = rules_for(catalogue.current()->servers.at(id).identity, id, tools);
  if (!rules) co_return fail(rules.error());
  catalogue.set_rules(std::move(*rules));

  const Folder temporary;
  auto state = StateFolder::own(temporary.path() + "/state", "lint", system_entropy());
  if (!state) co_return fail(state.error());
  StoreOptions store_options;
  store_options.folder = &*state;
  store_options.reserve_bytes = 0;
  auto store = open_store(store_options, loop, system_clock(), system_entropy());
  if (!store) co_return fail(store.error());
  Metrics metrics;
  calls::CallsOptions options;
  options.identity = {SALLYPORT_VERSION, "000000", "client-started"};
  options.server_timeout[id] = kCall;
  calls::Calls calls(loop, std::move(options), **store, servers, catalogue, catalogue, system_clock(), system_entropy(),
                     metrics);
  NoChannel channel;
  LintCalls out;
  for (const json::Value tool : tools) {
    Inbound inbound = request(id, tool.find("name").string(), channel);
    const Answer answer = co_await calls.tools_call(std::move(inbound));
    if (answer.delivered) answer.delivered(true);
    ++out.called;
    for (auto& finding : judge(tool, answer)) out.findings.push_back(std::move(finding));
  }
  co_await calls.shutdown(Deadline::after(std::chrono::seconds(5)));
  co_return out;
}

}  // namespace sallyport::gateway
