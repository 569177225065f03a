#include "gateway/servers/change_stream.hpp"

#include <algorithm>

#include "gateway/base/log.hpp"
#include "gateway/mcp/jsonrpc.hpp"
#include "gateway/servers/exchange.hpp"
#include "gateway/servers/params.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::servers {
namespace {

bool is_true(json::Value value) { return value.is_bool() && value.boolean(); }

}  // namespace

void ChangeStream::begin(json::Value capabilities) {
  tools_ = is_true(capabilities.at("/tools/listChanged"));
  prompts_ = is_true(capabilities.at("/prompts/listChanged"));
  resources_ = is_true(capabilities.at("/resources/listChanged"));
  subscribe_ = is_true(capabilities.at("/resources/subscribe"));
  if (wants_anything()) open();
}

void ChangeStream::end() {
  ended_ = true;
  for (const StreamPtr& stream : {current_, newest_}) {
    if (stream) stream->cancel->cancel(CancelReason::shutdown);
  }
  changed_.notify();
}

bool ChangeStream::wants_anything() const { return tools_ || prompts_ || resources_ || !uris_.empty(); }

std::string ChangeStream::params() const {
  std::string out;
  if (tools_) out += R"(,"toolsListChanged":true)";
  if (prompts_) out += R"(,"promptsListChanged":true)";
  if (resources_) out += R"(,"resourcesListChanged":true)";
  if (!uris_.empty()) {
    std::string list;
    for (const std::string& uri : uris_) list += "," + quote(uri);
    out += R"(,"resourceSubscriptions":[)" + list.substr(1) + "]";
  }
  return R"({"notifications":{)" + (out.empty() ? out : out.substr(1)) + "}}";
}

void ChangeStream::open() {
  newest_ = std::make_shared<Stream>();
  newest_->generation = ++generation_;
  owner_.tasks.spawn("changes " + owner_.name, keep(shared_from_this(), newest_));
}

asio::awaitable<void> ChangeStream::keep(Self self, StreamPtr stream) {
  auto on_acknowledged = [self, stream](json::Value params) { self->acknowledged(stream, params); };
  std::string wanted = self->params();
  const ServerAnswer answer = co_await self->owner_.open(std::move(wanted), std::move(on_acknowledged), stream->cancel);
  stream->ended = true;
  stream->problem = describe_failure(answer);
  const bool was_current = self->current_ == stream;
  if (was_current) self->current_ = nullptr;
  self->changed_.notify();
  if (self->ended_ || stream->cancel->reason() || stream != self->newest_) co_return;
  // A server that knows no such method, or not these params, will not by being asked again.
  const bool refused = answer.kind == ServerAnswer::Kind::error && !stream->acknowledged;
  log::info("server.changes_ended", {{"server", self->owner_.name}, {"reason", stream->problem}, {"refused", refused}});
  if (refused) co_return;
  self->missed_ = self->missed_ || was_current;
  if (stream->acknowledged) self->pause_ = self->owner_.retry_first;
  const Deadline after = Deadline::after(self->pause_);
  self->pause_ = std::min(self->pause_ * 2, self->owner_.retry_most);
  self->owner_.tasks.spawn("changes again " + self->owner_.name, open_again(self, after));
}

asio::awaitable<void> ChangeStream::open_again(Self self, Deadline after) {
  const std::uint64_t generation = self->generation_;
  while (!self->ended_ && !after.passed()) co_await self->changed_.wait(after);
  if (!self->ended_ && generation == self->generation_ && self->wants_anything()) self->open();
}

void ChangeStream::acknowledged(const StreamPtr& stream, json::Value params) {
  if (stream->acknowledged || stream->ended) return;
  const json::Value honoured = params.find("notifications");
  stream->acknowledged = true;
  stream->tools = is_true(honoured.find("toolsListChanged"));
  stream->prompts = is_true(honoured.find("promptsListChanged"));
  stream->resources = is_true(honoured.find("resourcesListChanged"));
  for (const json::Value uri : honoured.find("resourceSubscriptions").elements()) {
    if (uri.is_string()) stream->uris.insert(uri.string());
  }
  if (stream != newest_) {
    stream->cancel->cancel(CancelReason::stop);  // overtaken while the server thought about it
  } else {
    const StreamPtr before = std::exchange(current_, stream);
    if (before) before->cancel->cancel(CancelReason::stop);
    if (std::exchange(missed_, false)) tell_missed(*stream);
  }
  changed_.notify();
}

void ChangeStream::tell_missed(const Stream& stream) {
  if (stream.tools) owner_.list_changed(ListKind::tools);
  if (stream.prompts) owner_.list_changed(ListKind::prompts);
  if (stream.resources) owner_.list_changed(ListKind::resources);
  for (const std::string& uri : stream.uris) owner_.resource_changed(uri);
}

asio::awaitable<ServerAnswer> ChangeStream::subscribe(std::string uri, Deadline deadline) {
  const Self self = shared_from_this();
  if (!subscribe_) co_return local_error(mcp::code::kMethodNotFound, "the server tells no changes of resources");
  if (uris_.size() >= kMost) co_return local_error(mcp::code::kInvalidRequest, "too many resources are subscribed to");
  if (current_ && current_->uris.contains(uri)) co_return local_result("{}");
  uris_.insert(uri);
  open();
  const StreamPtr mine = newest_;
  const auto decided = [&] { return current_ && current_->generation >= mine->generation; };
  const auto refused = [&] { return mine->ended && newest_ == mine; };
  while (!ended_ && !decided() && !refused() && !deadline.passed()) co_await changed_.wait(deadline);
  if (current_ && current_->uris.contains(uri)) co_return local_result("{}");
  uris_.erase(uri);
  const std::string why = mine->ended && !mine->acknowledged ? ": " + mine->problem : std::string();
  co_return local_error(mcp::code::kInvalidParams, "the server does not tell changes of this resource" + why);
}

void ChangeStream::unsubscribe(const std::string& uri) {
  if (uris_.erase(uri) == 0 || ended_) return;
  if (wants_anything()) return open();
  ++generation_;
  for (const StreamPtr& stream : {current_, newest_}) {
    if (stream) stream->cancel->cancel(CancelReason::stop);
  }
}

}  // namespace sallyport::gateway::servers
