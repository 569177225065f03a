#include "gateway/clients/own_questions.hpp"

namespace sallyport::gateway {

void OwnQuestions::forget_old() {
  std::erase_if(open_, [](const auto& entry) { return !entry.second.waits && entry.second.until.passed(); });
}

asio::awaitable<ClientReply> OwnQuestions::ask(std::shared_ptr<OwnQuestions> self, std::string principal,
                                               ServerQuestion question, Put put) {
  self->forget_old();
  const std::string params(question.params.raw());
  // The user may have answered this very question after the call had gone to wait in the store.
  for (auto it = self->open_.begin(); it != self->open_.end(); ++it) {
    const One& one = it->second;
    if (one.waits || one.reply.empty() || one.principal != principal || one.params != params) continue;
    ClientReply reply{one.reply, std::nullopt};
    self->open_.erase(it);
    co_return reply;
  }
  if (self->open_.size() >= kMost) {
    co_return ClientReply::fail(mcp::code::kInvalidRequest, "too many questions are open");
  }
  const std::string id = "ask-" + self->entropy_.token(12);  // never that of another life
  const asio::any_io_executor loop = co_await asio::this_coro::executor;
  const auto answer = std::make_shared<OneShot<ClientReply>>(loop);
  self->open_.emplace(id, One{std::move(principal), params, Deadline::after(kAnswerWait), answer, {}});
  // Who asks may end for the time being; the question stays open for its user.
  const std::shared_ptr<void> leaving(nullptr, [self, id](void*) {
    if (const auto one = self->open_.find(id); one != self->open_.end()) one->second.waits = nullptr;
  });
  if (!put(id)) co_return ClientReply::fail(mcp::code::kInvalidRequest, "the client is gone");
  if (question.cancel) {
    question.cancel->on_cancel([weak = std::weak_ptr(answer)](CancelReason) {
      if (const auto open = weak.lock()) {
        open->set(ClientReply::fail(mcp::code::kInternalError, "nobody waits for this answer any more"));
      }
    });
  }
  std::optional<ClientReply> reply = co_await answer->wait(earlier(question.deadline, Deadline::after(kAnswerWait)));
  if (question.cancel) question.cancel->on_cancel({});
  if (!reply) co_return ClientReply::fail(mcp::code::kInternalError, "the client did not answer in time");
  if (!reply->error) self->open_.erase(id);
  co_return std::move(*reply);
}

bool OwnQuestions::answered(const std::string& id, std::string reply_raw) {
  forget_old();
  const auto found = open_.find(id);
  if (found == open_.end() || !found->second.reply.empty()) return false;
  if (reply_raw.empty()) return true;
  if (found->second.waits) {
    found->second.waits->set(ClientReply{std::move(reply_raw), std::nullopt});
  } else {
    found->second.reply = std::move(reply_raw);
  }
  return true;
}

}  // namespace sallyport::gateway
