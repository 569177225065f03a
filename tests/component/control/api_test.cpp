// The API as a table: every route with every credential, method and body.
#include <boost/json.hpp>
#include <set>

#include "tests/component/control/fixture.hpp"

namespace sallyport::gateway::testing {
namespace {

struct Case {
  std::string method, target, body;
  std::string said;      // what the Desk hears from user:dana, without the person
  std::string required;  // members of the body that must be there, comma-separated
};

const std::vector<Case> kApi{
    {"GET", "/api/v1/approvals?state=pending&limit=7", "", "approvals|pending|7", ""},
    {"GET", "/api/v1/approvals", "", "approvals||100", ""},
    {"GET", "/api/v1/approvals/ap_1", "", "approval|ap_1", ""},
    {"POST", "/api/v1/approvals/ap_1/approve", R"({"shown":"sha256:ab","reason":"fine"})",
     "approve|ap_1|sha256:ab|fine", "shown"},
    {"POST", "/api/v1/approvals/ap_1/deny", R"({"reason":"no \u00e9"})", "deny|ap_1|no \xC3\xA9", ""},
    {"POST", "/api/v1/approvals/ap_1/approve",
     R"({"shown":"sha256:ab","grant":{"run":true,"arguments":{"n":1e2}},"settle":[{"operation":"op_1","outcome":"none"}]})",
     R"(approve|ap_1|sha256:ab||{"run":true,"arguments":{"n":1e2}}|op_1=none)", "shown"},
    {"POST", "/api/v1/answers/approve",
     R"({"asks":[{"id":"ap_1","shown":"a"},{"id":"ap_2","shown":"b"}],"reason":"r"})", "approve all|r|ap_1=a|ap_2=b",
     ""},
    {"POST", "/api/v1/answers/deny", R"({"asks":[{"id":"ap_1"}],"reason":"r"})", "deny all|r|ap_1=", ""},
    {"GET", "/api/v1/grants?state=all", "", "grants|all", ""},
    {"POST", "/api/v1/grants/gr_1/revoke", R"({"reason":"over"})", "revoke grant|gr_1|over", ""},
    {"POST", "/api/v1/approvals/ap_1/revoke", R"({})", "revoke|ap_1|", ""},
    {"GET", "/api/v1/operations?state=unknown", "", "operations|unknown|100", ""},
    {"GET", "/api/v1/operations/op_1", "", "operation|op_1", ""},
    {"POST", "/api/v1/operations/op_1/resolve", R"({"outcome":"applied","reason":"seen"})", "resolve|op_1|applied|seen",
     "outcome,reason"},
    {"GET", "/api/v1/receipts?principal=agent%3Aci&tool=a+b&limit=5", "",
     R"(receipts|{"limit":5,"principal":"agent:ci","tool":"a b"})", ""},
    {"GET", "/api/v1/receipts/rc_1", "", "receipt|rc_1", ""},
    {"GET", "/api/v1/stops", "", "stops", ""},
    {"POST", "/api/v1/stops", R"({"kind":"tool","value":"orders","tool":"refund","reason":"x"})",
     "stop|tool|orders|refund|x", "kind,reason"},
    {"POST", "/api/v1/stops/st_1/lift", R"({"reason":"over"})", "lift|st_1|over", ""},
    {"GET", "/api/v1/status", "", "status", ""},
    {"GET", "/api/v1/tools", "", "tools", ""},
    {"POST", "/api/v1/explain", R"({"server":"s","tool":"t","arguments":{"a":1.50},"principal":"agent:ci"})",
     R"(explain|{"principal":"agent:ci","server":"s","tool":"t","arguments":{"a":1.50}})", "server,tool"},
    {"POST", "/api/v1/call", R"({"server":"s","tool":"t","arguments":{"n": 1e2}})", R"(call|s|t|{"n": 1e2})",
     "server,tool"},
    {"GET", "/api/v1/trust?server=s&tool=t", "", "trust_review|s|t", ""},
    {"POST", "/api/v1/trust/accept", R"({"digest":"sha256:cd","also":true})", "trust_accept_also|||sha256:cd",
     "digest"},
    {"POST", "/api/v1/trust/accept", R"({"server":"s","tool":"t","digest":"sha256:cd"})", "trust_accept|s|t|sha256:cd",
     "digest"},
    {"POST", "/api/v1/reload", "", "reload", ""},
    {"GET", "/api/v1/policy", "", "policy", ""},
    {"POST", "/api/v1/policy/accept", R"({"digest":"sha256:ef"})", "policy_accept|sha256:ef", "digest"},
};
// Needs a person, and is not the Desk's.
const std::vector<std::string> kOwn{"/readyz", "/metrics", "/api/v1/me", "/api/v1/approvals/events"};

class ControlApi : public ::testing::Test {
 protected:
  ControlRig rig;
};

std::string code_of(const Reply& reply) {
  boost::system::error_code ec;
  const auto body = boost::json::parse(reply.body, ec);
  if (ec) return "<no json: " + reply.body + ">";
  return std::string(body.at("error").at("code").as_string());
}

TEST_F(ControlApi, EveryRouteReachesTheDeskAsThatPerson) {
  for (const Case& one : kApi) {
    const Reply reply = rig.ask(one.method, one.target, "dana-token", one.body);
    EXPECT_EQ(reply.status, 200) << one.target << reply.body;
    EXPECT_EQ(reply.body, "{}\n") << one.target;
    EXPECT_EQ(reply.header("content-type"), "application/json");
    EXPECT_EQ(rig.desk.taken(), std::vector<std::string>{"user:dana|" + one.said}) << one.target;
  }
}

TEST_F(ControlApi, EveryRouteNeedsThePersonsCredential) {
  std::vector<std::pair<std::string, std::string>> routes;
  for (const Case& one : kApi) routes.emplace_back(one.method, one.target);
  for (const std::string& path : kOwn) routes.emplace_back("GET", path);
  for (const auto& [method, target] : routes) {
    for (const char* token : {"", "wrong", "agent-token", "shared-token", "DANA-TOKEN", "dana-token-and-more"}) {
      const Reply reply = rig.ask(method, target, token, "{}");
      EXPECT_EQ(reply.status, 401) << target << " with " << token;
      EXPECT_EQ(code_of(reply), "unauthorized");
      EXPECT_TRUE(reply.header("www-authenticate").starts_with("Bearer")) << target;
    }
    const Reply cookie = rig.ask(method, target, "", "{}", {{"Cookie", "token=dana-token"}});
    EXPECT_EQ(cookie.status, 401) << target;
    const Reply basic = rig.ask(method, target, "", "{}", {{"Authorization", "Basic dana-token"}});
    EXPECT_EQ(basic.status, 401) << target;
    const Reply query =
        rig.ask(method, target + (target.contains('?') ? "&" : "?") + "access_token=dana-token", "", "{}");
    EXPECT_EQ(query.status, 401) << target;
  }
  EXPECT_TRUE(rig.desk.taken().empty());
}

TEST_F(ControlApi, EveryPathNamesTheMethodsThatItTakes) {
  std::map<std::string, std::set<std::string>> taken;
  for (const Case& one : kApi) taken[one.target.substr(0, one.target.find('?'))].insert(one.method);
  for (const std::string& path : kOwn) taken[path].insert("GET");
  for (const char* path : {"/", "/healthz", "/console/app.js", "/console.css"}) taken[path].insert("GET");
  for (const auto& [path, methods] : taken) {
    for (const char* method : {"GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
      if (methods.contains(method)) continue;
      const Reply reply = rig.ask(method, path, "dana-token");
      EXPECT_EQ(reply.status, 405) << method << " " << path;
      EXPECT_EQ(code_of(reply), "method_not_allowed");
      for (const std::string& good : methods) EXPECT_TRUE(reply.header("allow").contains(good)) << path;
      EXPECT_FALSE(reply.header("allow").contains("PUT"));
    }
  }
}

TEST_F(ControlApi, UnknownPathsAreNotFound) {
  for (const char* path : {"/api/v1/nothing", "/api/v2/status", "/api/v1/status/", "/api/v1", "/api/v1/approvals/",
                           "/api/v1/approvals/ap%5F1", "/api/v1/approvals/a-b", "/api/v1/approvals/ap_1/approve/x",
                           "/api/v1/approvals//approve", "//healthz", "/HEALTHZ", "/console.html", "/../healthz",
                           "/api/v1/operations/op.1"}) {
    EXPECT_EQ(rig.ask("GET", path, "dana-token").status, 404) << path;
  }
  const std::string endless(300, 'a');
  EXPECT_EQ(rig.ask("GET", "/api/v1/receipts/" + endless, "dana-token").status, 404);
  EXPECT_TRUE(rig.desk.taken().empty());
}

TEST_F(ControlApi, PostsTakeStrictJsonOnly) {
  for (const Case& one : kApi) {
    if (one.method != "POST") continue;
    const auto refused = [&](const std::string& body, int status, const ControlRig::Headers& headers = {}) {
      const Reply reply = rig.ask("POST", one.target, "dana-token", body, headers);
      EXPECT_EQ(reply.status, status) << one.target << " " << body << " " << reply.body;
    };
    const std::string good = one.body.empty() ? "{}" : one.body;
    for (const char* type :
         {"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonp"}) {
      refused(good, 415, {{"Content-Type", type}});
    }
    refused(good, 415, {{"Content-Encoding", "gzip"}});
    refused("[]", 400);
    refused("\"x\"", 400);
    refused("{", 400);
    refused("{} {}", 400);
    refused(R"({"reason":"a","reason":"b"})", 400);
    refused(R"({"reason":"a","Reason":"b"})", 400);
    refused(R"({"reason":1,"server":1,"digest":1})", 400);
    std::string more = good;
    more.insert(more.rfind('}'), std::string(more == "{}" ? "" : ",") + R"("more":1)");
    refused(more, 400);
    std::string required = one.required;
    while (!required.empty()) {
      const std::string name = required.substr(0, required.find(','));
      required = required.contains(',') ? required.substr(required.find(',') + 1) : "";
      auto body = boost::json::parse(one.body).as_object();
      body.erase(name);
      refused(boost::json::serialize(body), 400);
      body[name] = "";
      refused(boost::json::serialize(body), 400);
    }
    const Reply query = rig.ask("POST", one.target + "?reason=x", "dana-token", good);
    EXPECT_EQ(query.status, 400) << one.target;
  }
  EXPECT_TRUE(rig.desk.taken().empty());
}

TEST_F(ControlApi, FaultsOfABodyNameTheMember) {
  const Reply unknown =
      rig.ask("POST", "/api/v1/approvals/ap_1/approve", "dana-token", R"({"shown":"x","raeson":"y"})");
  EXPECT_TRUE(unknown.body.contains("`raeson` is not known here; did you mean `reason`?")) << unknown.body;
  const Reply missing = rig.ask("POST", "/api/v1/approvals/ap_1/approve", "dana-token", "{}");
  EXPECT_TRUE(missing.body.contains("`shown` is missing")) << missing.body;
  const Reply deep =
      rig.ask("POST", "/api/v1/call", "dana-token",
              R"({"server":"s","tool":"t","arguments":)" + std::string(5000, '[') + std::string(5000, ']') + "}");
  EXPECT_EQ(deep.status, 400);
}

TEST_F(ControlApi, QueriesAreStrict) {
  for (const char* query : {"limit=0", "limit=1001", "limit=-1", "limit=1e2", "limit=x", "unknown=1", "state=a&state=b",
                            "state=%zz", "state=%", "state=%ff", "limit=99999999999999999999"}) {
    EXPECT_EQ(rig.ask("GET", std::string("/api/v1/approvals?") + query, "dana-token").status, 400) << query;
  }
  EXPECT_EQ(rig.ask("GET", "/api/v1/status?x=1", "dana-token").status, 400);
  EXPECT_TRUE(rig.desk.taken().empty());
}

TEST_F(ControlApi, ErrorsOfTheDeskHaveOneStatusEach) {
  const std::vector<std::pair<ErrorCode, int>> table{
      {ErrorCode::invalid, 400},  {ErrorCode::forbidden, 403},   {ErrorCode::not_found, 404},
      {ErrorCode::conflict, 409}, {ErrorCode::limit, 429},       {ErrorCode::internal, 500},
      {ErrorCode::io, 500},       {ErrorCode::corrupt, 500},     {ErrorCode::unsupported, 501},
      {ErrorCode::protocol, 502}, {ErrorCode::unavailable, 503}, {ErrorCode::cancelled, 503},
      {ErrorCode::timeout, 504}};
  for (const auto& [code, status] : table) {
    rig.desk.fail_with(Error{code, "because \"so\"\n<b>"});
    const Reply reply = rig.ask("GET", "/api/v1/status", "dana-token");
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(code_of(reply), to_string(code));
    EXPECT_EQ(boost::json::parse(reply.body).at("error").at("message").as_string(), "because \"so\"\n<b>");
  }
}

TEST_F(ControlApi, OnlyOwnNamesAndOrigins) {
  const auto with = [&](const char* name, const std::string& value) {
    return rig.ask("GET", "/api/v1/status", "dana-token", "", {{name, value}}).status;
  };
  EXPECT_EQ(with("Host", "evil.example"), 403);
  EXPECT_EQ(with("Host", "evil.example:" + std::to_string(rig.port())), 403);
  EXPECT_EQ(with("Host", "localhost:1"), 200);
  EXPECT_EQ(with("Origin", "http://evil.example"), 403);
  EXPECT_EQ(with("Origin", "null"), 403);
  EXPECT_EQ(with("Origin", rig.url()), 200);
  const Reply page = rig.ask("GET", "/", "", "", {{"Host", "evil.example"}});
  EXPECT_EQ(page.status, 403);
  const Reply preflight =
      rig.ask("OPTIONS", "/api/v1/status", "", "", {{"Origin", rig.url()}, {"Access-Control-Request-Method", "POST"}});
  EXPECT_EQ(preflight.status, 405);
  EXPECT_EQ(preflight.header("access-control-allow-origin"), "");
}

TEST_F(ControlApi, EveryAnswerForbidsStoringSniffingAndFraming) {
  const std::vector<Reply> replies{rig.ask("GET", "/healthz", ""),
                                   rig.ask("GET", "/", ""),
                                   rig.ask("GET", "/api/v1/status", "dana-token"),
                                   rig.ask("GET", "/api/v1/status", ""),
                                   rig.ask("GET", "/nothing", "dana-token"),
                                   rig.ask("PUT", "/healthz", ""),
                                   rig.ask("POST", "/api/v1/reload", "dana-token", "[]"),
                                   rig.ask("GET", "/metrics", "wat-token")};
  for (const Reply& reply : replies) {
    EXPECT_EQ(reply.header("cache-control"), "no-store") << reply.body;
    EXPECT_EQ(reply.header("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply.header("x-frame-options"), "DENY");
    EXPECT_TRUE(reply.header("content-security-policy").starts_with("default-src 'none'"));
    EXPECT_EQ(reply.header("set-cookie"), "");
  }
}

TEST_F(ControlApi, HealthAndTheConsoleNeedNoCredentialAndHoldNothing) {
  EXPECT_EQ(rig.ask("GET", "/healthz", "").body, "ok\n");
  const Reply page = rig.ask("GET", "/", "");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.header("content-type"), "text/html; charset=utf-8");
  EXPECT_TRUE(page.header("content-security-policy").contains("script-src 'self'"));
  EXPECT_FALSE(page.header("content-security-policy").contains("unsafe"));
  EXPECT_TRUE(page.body.contains("<script type=\"module\" src=\"/console/app.js\"></script>"));
  EXPECT_FALSE(page.body.contains("style=")) << "the policy forbids inline style";
  std::size_t all = page.body.size() + rig.ask("GET", "/console.css", "").body.size();
  for (const char* name : {"act", "api", "app", "ask_page", "dom", "group", "json_text", "records", "rules", "words"}) {
    const Reply script = rig.ask("GET", std::string("/console/") + name + ".js", "");
    ASSERT_EQ(script.status, 200) << name;
    EXPECT_TRUE(script.header("content-type").starts_with("text/javascript"));
    all += script.body.size();
    for (const char* danger : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                               "localStorage", "sessionStorage", "document.cookie"}) {
      EXPECT_FALSE(script.body.contains(danger)) << name << ": " << danger;
    }
  }
  EXPECT_LT(all, 150U << 10);
  EXPECT_EQ(rig.ask("GET", "/console/nothing.js", "").status, 404);
  EXPECT_EQ(rig.ask("GET", "/console/console.html", "").status, 404) << "the page has one address";
  EXPECT_TRUE(rig.ask("GET", "/console.css", "").header("content-type").starts_with("text/css"));
}

TEST_F(ControlApi, MetricsAreForWatchers) {
  rig.metrics.receipt("call");
  const Reply metrics = rig.ask("GET", "/metrics", "wat-token");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_TRUE(metrics.header("content-type").starts_with("text/plain"));
  EXPECT_TRUE(metrics.body.contains("sallyport_")) << metrics.body;
  for (const char* token : {"dana-token", "kim-token", "ada-token", "nil-token"}) {
    EXPECT_EQ(rig.ask("GET", "/metrics", token).status, 403) << token;
  }
}

TEST_F(ControlApi, ReadinessTellsTheTruthToAnyRole) {
  for (const char* token : {"dana-token", "kim-token", "ada-token", "wat-token"}) {
    const Reply reply = rig.ask("GET", "/readyz", token);
    EXPECT_EQ(reply.status, 200) << token;
    EXPECT_EQ(reply.body, "{\"ready\":true,\"detail\":{\"servers\":[]}}\n");
  }
  EXPECT_EQ(rig.ask("GET", "/readyz", "nil-token").status, 403);
  rig.readiness.is_ready = false;
  const Reply reply = rig.ask("GET", "/readyz", "wat-token");
  EXPECT_EQ(reply.status, 503);
  EXPECT_TRUE(reply.body.starts_with("{\"ready\":false"));
}

TEST_F(ControlApi, MeSaysWhoTheCredentialIs) {
  EXPECT_EQ(rig.ask("GET", "/api/v1/me", "dana-token").body,
            "{\"groups\":[\"owners\"],\"id\":\"user:dana\",\"roles\":[\"approver\",\"operator\"]}\n");
  EXPECT_EQ(rig.ask("GET", "/api/v1/me", "nil-token").body,
            "{\"groups\":[\"owners\"],\"id\":\"user:nil\",\"roles\":[]}\n");
}

TEST_F(ControlApi, HeadIsTakenWhereGetIs) {
  const Reply reply = rig.ask("HEAD", "/api/v1/status", "dana-token");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(rig.ask("HEAD", "/healthz", "").status, 200);
  EXPECT_EQ(rig.ask("HEAD", "/api/v1/reload", "dana-token").status, 405);
  EXPECT_EQ(rig.ask("HEAD", "/api/v1/approvals/events", "dana-token").status, 200);
}

TEST_F(ControlApi, BodiesAreBounded) {
  const std::string body = R"({"reason":")" + std::string(80U << 10, 'x') + "\"}";
  EXPECT_EQ(rig.ask("POST", "/api/v1/approvals/ap_1/deny", "dana-token", body).status, 413);
  const std::string text = R"({"reason":")" + std::string(5000, 'x') + "\"}";
  EXPECT_EQ(rig.ask("POST", "/api/v1/approvals/ap_1/deny", "dana-token", text).status, 400);
  EXPECT_EQ(rig.ask("GET", "/api/v1/status", "dana-token").status, 200) << "and the next one is served";
}

class ControlEvents : public ControlApi {
 protected:
  int listen(const std::string& token) {
    const int fd = rig.connect();
    ControlRig::send_text(
        fd, "GET /api/v1/approvals/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + token + "\r\n\r\n");
    return fd;
  }
};

TEST_F(ControlEvents, TellChangesToThoseWhoListen) {
  const int fd = listen("kim-token");
  const std::string head = ControlRig::read_until(fd, "event: ready\ndata: {}\n\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200")) << head;
  EXPECT_TRUE(head.contains("text/event-stream"));
  rig.approval_changed("ap_7");
  const std::string event = ControlRig::read_until(fd, "}\n\n");
  EXPECT_TRUE(event.contains("event: approval\ndata: {\"approval\":\"ap_7\"}")) << event;
  ::close(fd);
}

TEST_F(ControlEvents, AreForThoseWhoMayRead) {
  for (const char* token : {"wat-token", "nil-token"}) {
    EXPECT_EQ(rig.ask("GET", "/api/v1/approvals/events", token).status, 403) << token;
  }
}

TEST_F(ControlEvents, EndWhenTheCredentialIsTakenAway) {
  const int fd = listen("kim-token");
  ControlRig::read_until(fd, "data: {}\n\n");
  rig.set_people({});
  rig.approval_changed("ap_8");
  const std::string rest = ControlRig::read_until(fd, "\r\n0\r\n\r\n");
  EXPECT_FALSE(rest.contains("ap_8")) << rest;
  ::close(fd);
  EXPECT_EQ(rig.ask("GET", "/api/v1/me", "kim-token").status, 401);
}

TEST_F(ControlEvents, AreBoundedInNumber) {
  const int one = listen("kim-token");
  const int two = listen("dana-token");
  ControlRig::read_until(one, "data: {}\n\n");
  ControlRig::read_until(two, "data: {}\n\n");
  EXPECT_EQ(rig.ask("GET", "/api/v1/approvals/events", "ada-token").status, 429);
  EXPECT_EQ(rig.ask("GET", "/api/v1/status", "dana-token").status, 200);
  ::close(one);
  ::close(two);
}

TEST_F(ControlEvents, TooManyToTellMeanLookAtEverything) {
  const int fd = listen("kim-token");
  ControlRig::read_until(fd, "data: {}\n\n");
  rig.on_loop([] {});
  for (int i = 0; i < 400; ++i) rig.approval_changed("ap_" + std::to_string(i));
  rig.approval_changed("ap_last");
  std::string heard;
  while (!heard.contains("event: ready") && !heard.contains("ap_last")) {
    const std::string event = ControlRig::read_until(fd, "}\n\n");
    if (event.empty()) break;
    heard += event;
  }
  EXPECT_TRUE(heard.contains("event: ready") || heard.contains("ap_last"));
  ::close(fd);
}

}  // namespace
}  // namespace sallyport::gateway::testing
