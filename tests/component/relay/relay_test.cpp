// Where a resource or a prompt belongs, and who hears of what: for each principal alone, with servers that hang, list
// other things to others, and come back after they were lost.
#include "gateway/relay/relay.hpp"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>

#include "gateway/base/log.hpp"
#include "gateway/ports/naming.hpp"
#include "gateway/ports/permitted_call.hpp"
#include "policy/rules/policy.hpp"

namespace sallyport::gateway::relay {
namespace {

const bool kQuiet = (log::configure(log::Level::off, log::Format::text), true);

// A link to a server that lists what the test says, to whom.
class FakeLink final : public ServerLink {
 public:
  explicit FakeLink(asio::any_io_executor loop) : opened(std::move(loop)) {}
  [[nodiscard]] const ServerInfo& info() const override { return info_; }
  [[nodiscard]] const std::string& identity() const override { return identity_; }
  asio::awaitable<ServerAnswer> call(PermittedCall, CallControl) override { co_return ServerAnswer{}; }
  asio::awaitable<ServerAnswer> relay(std::string method, std::string params_raw, CallControl control) override {
    said.push_back(method + " " + params_raw);
    while (hangs) {
      const bool notified = co_await opened.wait(control.deadline);
      if (!notified) co_return ServerAnswer{};
    }
    std::string list;
    if (method == "prompts/list") list = R"("prompts":[)" + prompts + "]";
    if (method == "resources/list") list = R"("resources":[)" + resources + "]";
    if (method == "resources/templates/list") list = R"("resourceTemplates":[])";
    auto document = json::Document::parse("{" + list + "}");
    ServerAnswer answer;
    answer.kind = ServerAnswer::Kind::result;
    answer.sent = true;
    answer.document = std::make_shared<const json::Document>(std::move(*document));
    answer.result = answer.document->root();
    co_return answer;
  }
  asio::awaitable<Result<ToolListing>> list_tools(Deadline) override { co_return ToolListing{}; }
  [[nodiscard]] bool alive() const override { return up; }
  [[nodiscard]] std::size_t count(const std::string& what) const {
    std::size_t found = 0;
    for (const std::string& one : said) found += one.starts_with(what) ? 1 : 0;
    return found;
  }

  std::string prompts, resources;
  bool hangs = false, up = true;
  Signal opened;
  std::vector<std::string> said;

 private:
  ServerInfo info_;
  std::string identity_;
};

class FakeServers final : public Servers, public Snapshots, public Definitions {
 public:
  explicit FakeServers(asio::any_io_executor loop) : loop_(std::move(loop)) {}
  // One link a server and principal; a lost one is replaced.
  FakeLink& of(const std::string& server, const std::string& principal) {
    auto& link = links[{server, principal}];
    if (!link || !link->up) link = std::make_shared<FakeLink>(loop_);
    return *link;
  }
  [[nodiscard]] std::vector<ServerStatus> status() const override { return {}; }
  asio::awaitable<Result<std::shared_ptr<ServerLink>>> link(LinkKey key, Deadline) override {
    of(key.server, key.principal);
    std::shared_ptr<ServerLink> link = links[{key.server, key.principal}];
    co_return link;
  }
  asio::awaitable<void> shutdown(Deadline) override { co_return; }
  [[nodiscard]] std::shared_ptr<const Snapshot> current() const override {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->policy = std::make_shared<const policy::Policy>();
    for (const std::string& id : ids) snapshot->servers[id].id = id;
    return snapshot;
  }
  asio::awaitable<Result<bool>> verify(std::shared_ptr<ServerLink>, std::shared_ptr<const Tool>, Deadline) override {
    co_return true;
  }
  [[nodiscard]] std::shared_ptr<const Tool> judged(const std::string&, trust::Offer, json::Value) override {
    return nullptr;
  }
  std::vector<std::string> ids{"a", "b"};
  std::map<std::pair<std::string, std::string>, std::shared_ptr<FakeLink>> links;

 private:
  asio::any_io_executor loop_;
};

class RelayTest : public testing::Test {
 protected:
  static std::shared_ptr<const ClientContext> client(const std::string& principal) {
    auto context = std::make_shared<ClientContext>();
    context->principal.id = principal;
    context->session = "se_" + principal;
    return context;
  }
  Inbound inbound(const std::string& principal, const std::string& method, const std::string& params) {
    Inbound out;
    out.client = client(principal);
    out.method = method;
    auto document = json::Document::parse(params);
    out.document = std::make_shared<const json::Document>(std::move(*document));
    out.params = out.document->root();
    return out;
  }
  template <class T>
  std::shared_ptr<std::optional<T>> begin(asio::awaitable<T> task) {
    auto out = std::make_shared<std::optional<T>>();
    asio::co_spawn(io_, std::move(task), [out](std::exception_ptr error, T value) {
      ASSERT_FALSE(error);
      *out = std::move(value);
    });
    return out;
  }
  void spin(const std::function<bool()>& done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    io_.restart();
    while (!done() && io_.run_one_until(until) > 0) {
    }
    ASSERT_TRUE(done());
  }
  template <class T>
  T run(asio::awaitable<T> task) {
    const auto out = begin(std::move(task));
    spin([&] { return out->has_value(); });
    return std::move(**out);
  }
  asio::awaitable<Target> resolve(Inbound inbound) {
    Target target = co_await relay_.resolve(inbound);
    co_return target;
  }
  Target prompt(const std::string& principal, const std::string& name) {
    return run(resolve(inbound(principal, "prompts/get", R"({"name":")" + name + "\"}")));
  }
  Target resource(const std::string& principal, const std::string& uri) {
    return run(resolve(inbound(principal, "resources/read", R"({"uri":")" + uri + "\"}")));
  }
  Answer ask(const std::string& principal, const std::string& method, const std::string& uri) {
    return run(relay_.handle(inbound(principal, method, R"({"uri":")" + uri + "\"}")));
  }
  void update(const std::string& principal, const std::string& uri) {
    relay_.resource_updated({"a", principal, {}}, R"({"uri":")" + uri + "\"}");
  }

  asio::io_context io_{1};
  FakeServers servers_{io_.get_executor()};
  std::vector<std::string> told_;
  std::string secret_;
  Relay relay_{io_.get_executor(),
               servers_,
               servers_,
               servers_,
               [this](const std::string& session, std::string_view, std::string_view params) {
                 told_.push_back(session + " " + std::string(params));
               },
               [this](const std::shared_ptr<const ClientContext>&, const std::string&, const std::string& uri) {
                 return secret_.empty() || !uri.starts_with(secret_);
               }};
};

TEST_F(RelayTest, TwoWhoAskAtOnceBothGetWhatTheFirstListSays) {
  FakeLink& a = servers_.of("a", "p");
  a.prompts = R"({"name":"greet"})";
  a.hangs = true;
  const auto one = begin(resolve(inbound("p", "prompts/get", R"({"name":"a__greet"})")));
  const auto two = begin(resolve(inbound("p", "prompts/get", R"({"name":"a__greet"})")));
  spin([&] { return !a.said.empty(); });
  a.hangs = false;
  a.opened.notify();
  spin([&] { return one->has_value() && two->has_value(); });
  EXPECT_EQ((*one)->server, "a");
  EXPECT_EQ((*two)->server, "a");
  EXPECT_EQ(a.count("prompts/list"), 1U) << "listed once for both";
}

TEST_F(RelayTest, OneServerThatHangsHoldsUpNoOthers) {
  servers_.of("a", "p").hangs = true;
  servers_.of("b", "p").prompts = R"({"name":"greet"})";
  servers_.of("b", "p").resources = R"({"uri":"b://1","name":"one"})";
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(prompt("p", "b__greet").server, "b");
  EXPECT_EQ(resource("p", "b://1").server, "b");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(8));
}

TEST_F(RelayTest, WhatBelongsWhereIsEachPrincipalsOwn) {
  servers_.of("a", "p").resources = R"({"uri":"x://1","name":"one"})";
  servers_.of("b", "q").resources = R"({"uri":"x://1","name":"one"})";
  EXPECT_EQ(resource("p", "x://1").server, "a");
  EXPECT_EQ(resource("q", "x://1").server, "b") << "what others see makes nothing ambiguous";
  EXPECT_EQ(resource("p", "x://1").server, "a");
  servers_.of("b", "p").resources = R"({"uri":"x://1","name":"one"})";
  relay_.list_changed("b", ListKind::resources);
  EXPECT_EQ(resource("p", "x://1").server, "a") << "known already";
  relay_.list_changed("a", ListKind::resources);
  EXPECT_FALSE(resource("p", "x://1").problem.empty()) << "now two have it";
}

TEST_F(RelayTest, WhatMayNotBeReadIsNotToldOfThroughItsParent) {
  servers_.of("a", "p").resources = R"({"uri":"a://dir","name":"d"})";
  EXPECT_FALSE(ask("p", "resources/subscribe", "a://dir").error);
  secret_ = "a://dir/secret";
  update("p", "a://dir/open");
  update("p", "a://dir/secret/key");
  EXPECT_EQ(told_, std::vector<std::string>{R"(se_p {"uri":"a://dir/open"})"});
}

TEST_F(RelayTest, AnEndedSubscriptionStaysEndedAcrossARestart) {
  servers_.of("a", "p").resources = R"({"uri":"a://1","name":"one"})";
  EXPECT_FALSE(ask("p", "resources/subscribe", "a://1").error);
  servers_.of("a", "p").up = false;  // it was lost; the client subscribes again, on the next
  EXPECT_FALSE(ask("p", "resources/subscribe", "a://1").error);
  EXPECT_FALSE(ask("p", "resources/unsubscribe", "a://1").error);
  EXPECT_EQ(servers_.of("a", "p").count("resources/unsubscribe"), 1U);
  update("p", "a://1");
  EXPECT_TRUE(told_.empty()) << told_.front();
}

TEST_F(RelayTest, OneThatEndsWhileItIsRenewedIsEndedAtTheServerToo) {
  servers_.of("a", "p").resources = R"({"uri":"a://1","name":"one"})";
  EXPECT_FALSE(ask("p", "resources/subscribe", "a://1").error);
  servers_.of("a", "p").up = false;
  FakeLink& next = servers_.of("a", "p");
  next.hangs = true;
  relay_.sweep();
  spin([&] { return next.count("resources/subscribe") == 1; });
  EXPECT_FALSE(ask("p", "resources/unsubscribe", "a://1").error);
  next.hangs = false;
  next.opened.notify();
  spin([&] { return next.count("resources/unsubscribe") == 1; });
  update("p", "a://1");
  EXPECT_TRUE(told_.empty());
}

TEST_F(RelayTest, SubscriptionsNameAResource) {
  for (const std::string method : {"resources/subscribe", "resources/unsubscribe"}) {
    for (const std::string params : {"{}", R"({"uri":7})", R"({"uri":""})"}) {
      const Answer answer = run(relay_.handle(inbound("p", method, params)));
      ASSERT_TRUE(answer.error) << method << params;
      EXPECT_EQ(answer.error->code, mcp::code::kInvalidParams);
    }
  }
}

TEST_F(RelayTest, APageOfAllServersIsBoundedInBytes) {
  const std::string large = R"({"uri":"a://1","name":")" + std::string(2U << 20, 'x') + "\"}";
  servers_.of("a", "p").resources = large;
  servers_.of("b", "p").resources = large;
  const Answer first = run(relay_.handle(inbound("p", "resources/list", "{}")));
  EXPECT_LT(first.result.size(), 3U << 20);
  EXPECT_NE(first.result.find("nextCursor"), std::string::npos);
}

TEST(MayBeOf, HoldsForEveryExposedNameOfAServer) {
  for (const std::string& server :
       {std::string("a"), std::string("files"), std::string("we.ird"), std::string(60, 's')}) {
    for (const std::string& tool : {std::string("t"), std::string("a b"), std::string(80, 't')})
      EXPECT_TRUE(may_be_of(server, exposed_name(server, tool))) << server << " " << tool;
  }
  EXPECT_FALSE(may_be_of("files", "file__x"));
  EXPECT_FALSE(may_be_of("file", "files__x"));
}

}  // namespace
}  // namespace sallyport::gateway::relay
