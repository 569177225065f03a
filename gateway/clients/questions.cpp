#include "gateway/clients/questions.hpp"

#include <fmt/format.h>
#include <boost/asio/this_coro.hpp>

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kMostElicitations = 64;

// Ends the bookkeeping of one question however its task goes.
class Open {
 public:
  using Table = std::map<std::string, std::shared_ptr<OneShot<ClientReply>>, std::less<>>;
  Open(std::shared_ptr<void> keep, Table& table, std::string id, std::shared_ptr<OneShot<ClientReply>> answer,
       std::shared_ptr<Cancel> cancel)
      : keep_(std::move(keep)), table_(table), id_(std::move(id)), cancel_(std::move(cancel)) {
    table_.emplace(id_, answer);
    if (!cancel_) return;
    cancel_->on_cancel([weak = std::weak_ptr(answer)](CancelReason) {
      if (const auto open = weak.lock()) {
        open->set(ClientReply::fail(mcp::code::kInternalError, "the call that this belongs to has ended"));
      }
    });
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  ~Open() {
    if (cancel_) cancel_->on_cancel({});
    table_.erase(id_);
  }

 private:
  std::shared_ptr<void> keep_;
  Table& table_;
  std::string id_;
  std::shared_ptr<Cancel> cancel_;
};

}  // namespace

ClientAbilities ClientAbilities::read(json::Value capabilities) {
  ClientAbilities able;
  const json::Value elicitation = capabilities.find("elicitation");
  able.sampling = capabilities.find("sampling").is_object();
  able.sampling_tools = capabilities.at("/sampling/tools").is_object();
  able.url = elicitation.find("url").is_object();
  // Before url mode there was only one, without a name.
  able.form = elicitation.is_object() && (elicitation.find("form").is_object() || !elicitation.find("url"));
  able.roots = capabilities.find("roots").is_object();
  return able;
}

std::string ClientAbilities::declared() const {
  std::string out;
  if (form || url) {
    const char* both = form && url ? "," : "";
    out += fmt::format(R"(,"elicitation":{{{}{}{}}})", form ? R"("form":{})" : "", both, url ? R"("url":{})" : "");
  }
  if (sampling) out += sampling_tools ? R"(,"sampling":{"tools":{}})" : R"(,"sampling":{})";
  if (roots) out += R"(,"roots":{})";
  return out.empty() ? "{}" : "{" + out.substr(1) + "}";
}

std::string ClientAbilities::lacks(const ServerQuestion& question) const {
  const auto missing = [](bool there, const char* what) {
    return there ? std::string() : fmt::format("the client does not support {}", what);
  };
  if (question.method == "roots/list") return missing(roots, "roots");
  if (question.method == "sampling/createMessage") {
    if (!sampling || !question.params.find("tools")) return missing(sampling, "sampling");
    return missing(sampling_tools, "tools in sampling");
  }
  if (question.method != "elicitation/create") return "the client offers no such method to servers";
  const bool by_url = question.params.find("mode").equals("url");
  return missing(by_url ? url : form, by_url ? "elicitation by url" : "elicitation by form");
}

void Questions::remember_elicitation(const ServerQuestion& question) {
  const json::Value id = question.params.find("elicitationId");
  if (!id.is_string()) return;
  if (elicitations_.size() >= kMostElicitations) elicitations_.erase(elicitations_.begin());
  elicitations_.emplace(question.server, id.string());
}

asio::awaitable<ClientReply> Questions::ask(std::shared_ptr<Questions> self, ServerQuestion question, Send send) {
  if (self->open_.size() >= kMost) {
    co_return ClientReply::fail(mcp::code::kInvalidRequest, "too many questions to this client are open");
  }
  const std::string id = fmt::format("\"q-{}\"", self->next_++);
  const asio::any_io_executor loop = co_await asio::this_coro::executor;
  const auto answer = std::make_shared<OneShot<ClientReply>>(loop);
  const Open open(self, self->open_, id, answer, question.cancel);
  const std::string_view params = question.params ? question.params.raw() : std::string_view();
  const bool sent = send(mcp::request(id, question.method, params));
  if (!sent) {
    co_return ClientReply::fail(mcp::code::kInvalidRequest,
                                "the client has no event stream open, or does not read it, so that it cannot be asked");
  }
  self->remember_elicitation(question);
  std::optional<ClientReply> reply = co_await answer->wait(question.deadline);
  const bool withdrawn = !reply || (question.cancel && question.cancel->reason());
  if (withdrawn) {
    send(mcp::notification("notifications/cancelled",
                           fmt::format(R"({{"requestId":{},"reason":"nobody waits for it any more"}})", id)));
  }
  if (!reply) co_return ClientReply::fail(mcp::code::kInternalError, "the client did not answer in time");
  co_return std::move(*reply);
}

bool Questions::answered(const mcp::Message& message) {
  const auto found = open_.find(message.id);
  if (found == open_.end()) return false;
  ClientReply reply;
  if (message.kind == mcp::Message::Kind::response) {
    reply.result = message.result.raw();
  } else {
    reply.error.emplace();
    reply.error->code = message.error.find("code").integer().value_or(mcp::code::kInternalError);
    reply.error->message = message.error.find("message").string();
    if (const json::Value data = message.error.find("data")) reply.error->data = data.raw();
  }
  return found->second->set(std::move(reply));
}

void Questions::end() {
  const auto open = open_;  // their tasks erase themselves
  for (const auto& [id, answer] : open) {
    answer->set(ClientReply::fail(mcp::code::kInternalError, "the client is gone"));
  }
}

}  // namespace sallyport::gateway
