// A call that a modern server answers with a task: its answer is what the task comes to, and giving it up cancels the
// task.
#include "gateway/base/signal.hpp"
#include "tests/component/servers/modern_support.hpp"

namespace sallyport::gateway {
namespace {

class ModernTasks : public ModernServersTest {
 protected:
  ServerAnswer later(ServerLink& link, const std::string& arguments, bool declared = true, Cancel* cancel = nullptr,
                     Millis wait = std::chrono::seconds(20)) {
    Permit permit;
    permit.tool = "later";
    permit.arguments = arguments;
    CallControl control = within(wait);
    if (declared) control.capabilities = R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})";
    control.cancel = cancel;
    control.task_made = [this, cancel] {
      ++made_;
      if (cancel != nullptr) cancel->cancel(CancelReason::client);
    };
    return call(link, permit, std::move(control));
  }
  void wait_cancelled() {
    spin([&] { return count("tasks/cancel") == 1; });
  }
  int made_ = 0;
};

TEST_F(ModernTasks, IsAskedForUntilItHasEnded) {
  make_pool(modern_http());
  const auto up = link();
  EXPECT_EQ(text(later(*up, R"({"polls":3})")), "later");
  EXPECT_EQ(made_, 1);
  EXPECT_EQ(count("tasks/get"), 4U);
  EXPECT_EQ(text(later(*up, R"({"polls":0})")), "later");
  EXPECT_EQ(count("tasks/cancel"), 0U);
}

TEST_F(ModernTasks, IsFollowedOverStdioToo) {
  make_pool(modern_stdio());
  const auto up = link();
  EXPECT_EQ(text(later(*up, "{}")), "later");
}

TEST_F(ModernTasks, IsNoAnswerForWhoDeclaredNone) {
  make_pool(modern_http());
  const auto up = link();
  EXPECT_EQ(text(later(*up, "{}", false)), "at once");
  const ServerAnswer shameless = later(*up, R"({"shameless":true})", false);
  EXPECT_TRUE(shameless.result.find("resultType").equals("task"))
      << "for the call's own judgement, which takes it for none";
  EXPECT_EQ(count("tasks/get"), 0U);
}

TEST_F(ModernTasks, EndsAsItsServerSays) {
  make_pool(modern_http());
  const auto up = link();
  const ServerAnswer no = later(*up, R"({"ending":"error"})");
  EXPECT_EQ(no.kind, ServerAnswer::Kind::result);
  EXPECT_EQ(no.result.find("isError").raw(), "true");
  const ServerAnswer failed = later(*up, R"({"ending":"failed"})");
  EXPECT_EQ(failed.kind, ServerAnswer::Kind::error);
  EXPECT_EQ(failed.error.find("code").integer(), -32005);
  EXPECT_TRUE(failed.sent);
  for (const char* ending : {"cancelled", "input_required", "forgotten"}) {
    const ServerAnswer lost = later(*up, R"({"ending":")" + std::string(ending) + "\"}");
    EXPECT_EQ(lost.kind, ServerAnswer::Kind::lost) << ending;
    EXPECT_TRUE(lost.sent) << ending;
    EXPECT_FALSE(lost.detail.empty());
  }
}

TEST_F(ModernTasks, ThatIsGivenUpIsCancelledAtItsServer) {
  make_pool(modern_http());
  const auto up = link();
  Cancel cancel;
  const ServerAnswer lost = later(*up, R"({"ending":"never"})", true, &cancel);
  EXPECT_EQ(lost.kind, ServerAnswer::Kind::lost);
  EXPECT_EQ(lost.cancelled, CancelReason::client);
  EXPECT_TRUE(lost.sent);
  wait_cancelled();
}

TEST_F(ModernTasks, ThatOutlastsItsCallIsCancelledAtItsServer) {
  make_pool(modern_http());
  const auto up = link();
  const ServerAnswer lost = later(*up, R"({"ending":"never"})", true, nullptr, Millis(300));
  EXPECT_EQ(lost.kind, ServerAnswer::Kind::lost);
  EXPECT_TRUE(lost.timed_out);
  EXPECT_TRUE(lost.sent);
  wait_cancelled();
}

}  // namespace
}  // namespace sallyport::gateway
