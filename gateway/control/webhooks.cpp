#include "gateway/control/webhooks.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/base/log.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace bj = boost::json;

namespace {

constexpr auto kFirstPause = std::chrono::seconds(1);
constexpr int kTries = 6;
constexpr auto kWait = std::chrono::seconds(10);
constexpr std::size_t kMostPending = 1'000;  // deliveries under way; beyond it the newest are only logged
constexpr std::size_t kMostAnswer = 64U << 10;
constexpr std::size_t kMostSlack = 1'900;  // bytes; Slack refuses a block with a longer text whole

// It reads like an auditor and can do nothing.
Person reader() { return Person{std::string(kGatewayReader), static_cast<unsigned>(Role::auditor), {}}; }

std::string text(const bj::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

const bj::object& child(const bj::object& object, std::string_view name) {
  static const bj::object none;
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_object() ? value->as_object() : none;
}

std::string voters(const bj::object& ask) {
  std::string out;
  const auto* votes = ask.if_contains("votes");
  if (votes == nullptr || !votes->is_array()) return out;
  for (const bj::value& vote : votes->as_array()) {
    if (vote.is_object()) out += (out.empty() ? "" : ", ") + text(vote.as_object(), "by");
  }
  return out;
}

// What templates may name. The sentence has its values only where the config says so.
std::map<std::string, std::string> fields_of(const bj::object& ask, bool arguments, const std::string& console) {
  const bj::object& view = child(ask, "view");
  std::string says = text(view, arguments ? "says" : "heading");
  if (says.empty()) says = text(ask, "tool") + " of " + text(ask, "server");
  std::map<std::string, std::string> out;
  for (const char* name :
       {"id", "state", "principal", "server", "tool", "operation", "created", "expires", "reason", "endedBy"})
    out[name] = text(ask, name);
  if (!arguments) out["reason"].clear();  // people quote values in it
  out["says"] = says;
  out["effect"] = text(child(child(view, "effect"), "effective"), "category");
  out["url"] = console.empty() ? std::string() : console + "/#/asks/" + out["id"];
  if (out["state"] == "consumed") out["state"] = "approved";  // at once spent is still a yes
  if (out["state"] == "approved") out["endedBy"] = voters(ask);
  const bool waits = out["state"] == "pending";
  out["title"] =
      waits ? "An agent asks: " + says
            : fmt::format("{}{}: {}", out["state"], out["endedBy"].empty() ? "" : " by " + out["endedBy"], says);
  return out;
}

// Every `{name}` of every text, replaced; what is no name stays.
void fill(bj::value& value, const std::map<std::string, std::string>& fields) {
  if (auto* object = value.if_object()) {
    for (auto& member : *object) fill(member.value(), fields);
  } else if (auto* array = value.if_array()) {
    for (bj::value& item : *array) fill(item, fields);
  } else if (auto* string = value.if_string()) {
    std::string out;
    const std::string_view from(string->data(), string->size());
    for (std::size_t at = 0; at < from.size();) {
      const std::size_t end = from[at] == '{' ? from.find('}', at) : std::string_view::npos;
      const auto field =
          end == std::string_view::npos ? fields.end() : fields.find(std::string(from.substr(at + 1, end - at - 1)));
      if (field == fields.end()) {
        out += from[at++];
      } else {
        out += field->second;
        at = end + 1;
      }
    }
    *string = out;
  }
}

// At most so many bytes, at the end of a character, and saying that there is more.
std::string cut(const std::string& utf8, std::size_t most) {
  if (utf8.size() <= most) return utf8;
  std::size_t end = most;
  while (end > 0 && (static_cast<unsigned char>(utf8[end]) & 0xC0U) == 0x80U) --end;
  return utf8.substr(0, end) + "…";
}

// In Slack's own markup these three would mention, link or format; as entities they are text.
std::string slack_text(const std::string& plain) {
  std::string out;
  for (const char c : plain) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += c;
  }
  return out;
}

bj::value slack(const std::map<std::string, std::string>& fields) {
  const std::string line = fmt::format("{} · {}/{} · expires {}", fields.at("principal"), fields.at("server"),
                                       fields.at("tool"), fields.at("expires"));
  bj::array blocks{
      bj::object{{"type", "section"},
                 {"text",
                  bj::object{{"type", "plain_text"}, {"text", cut(fields.at("title"), kMostSlack)}, {"emoji", false}}}},
      bj::object{{"type", "context"},
                 {"elements",
                  bj::array{bj::object{{"type", "plain_text"}, {"text", cut(line, kMostSlack)}, {"emoji", false}}}}}};
  if (!fields.at("url").empty()) {
    bj::object button{{"type", "button"},
                      {"text", bj::object{{"type", "plain_text"}, {"text", "Look at it"}}},
                      {"url", fields.at("url")}};
    blocks.emplace_back(bj::object{{"type", "actions"}, {"elements", bj::array{std::move(button)}}});
  }
  return bj::object{{"blocks", std::move(blocks)}, {"text", slack_text(cut(fields.at("title"), kMostSlack))}};
}

bj::value teams(const std::map<std::string, std::string>& fields) {
  bj::array facts;
  for (const auto& [label, name] :
       {std::pair{"Client", "principal"}, {"Server", "server"}, {"Tool", "tool"}, {"Expires", "expires"}})
    facts.emplace_back(bj::object{{"title", label}, {"value", fields.at(name)}});
  // A RichTextBlock's runs are plain text; a TextBlock would read markdown.
  bj::object run{{"type", "TextRun"}, {"text", fields.at("title")}, {"weight", "bolder"}};
  bj::object card{{"$schema", "http://adaptivecards.io/schemas/adaptive-card.json"},
                  {"type", "AdaptiveCard"},
                  {"version", "1.4"},
                  {"body", bj::array{bj::object{{"type", "RichTextBlock"}, {"inlines", bj::array{std::move(run)}}},
                                     bj::object{{"type", "FactSet"}, {"facts", std::move(facts)}}}}};
  if (!fields.at("url").empty())
    card["actions"] =
        bj::array{bj::object{{"type", "Action.OpenUrl"}, {"title", "Look at it"}, {"url", fields.at("url")}}};
  bj::object attachment{{"contentType", "application/vnd.microsoft.card.adaptive"}, {"content", std::move(card)}};
  return bj::object{{"type", "message"}, {"attachments", bj::array{std::move(attachment)}}};
}

bj::value plain(const std::map<std::string, std::string>& fields, const bj::object& ask, bool arguments) {
  bj::object out{{"event", fields.at("state") == "pending" ? "asked" : "changed"}};
  for (const auto& [name, value] : fields) {
    if (!value.empty()) out[name] = value;
  }
  if (arguments) {
    if (const auto* lines = child(ask, "view").if_contains("arguments")) out["arguments"] = *lines;
  }
  return out;
}

}  // namespace

std::string webhook_body(const NotifySettings& hook, const std::string& ask_json, const std::string& console) {
  boost::system::error_code ec;
  const bj::value ask = bj::parse(ask_json, ec);
  if (ec || !ask.is_object()) return {};
  const auto fields = fields_of(ask.as_object(), hook.arguments, console);
  if (hook.format == "slack") return bj::serialize(slack(fields));
  if (hook.format == "teams") return bj::serialize(teams(fields));
  if (hook.format == "json") return bj::serialize(plain(fields, ask.as_object(), hook.arguments));
  bj::value body = bj::parse(hook.body, ec);
  if (ec) return {};
  fill(body, fields);
  return bj::serialize(body);
}

std::string webhook_signature(const std::string& secret, const std::string& timestamp, const std::string& body) {
  const auto mac = trust::hmac_sha256(secret, "v1:" + timestamp + ":" + body);
  return "v1=" + to_hex(std::string_view(reinterpret_cast<const char*>(mac.data()), mac.size()));
}

Webhooks::Webhooks(asio::any_io_executor loop, std::vector<Webhook> hooks, Desk& desk, Clock& clock)
    : hooks_(std::move(hooks)), desk_(desk), clock_(clock), client_(loop), tasks_(loop) {}

void Webhooks::start() {
  if (!hooks_.empty()) tasks_.spawn("tell what waits", tell_all());
}

void Webhooks::tell(const std::string& approval) {
  if (hooks_.empty()) return;
  if (tasks_.count() >= kMostPending) {
    log::warning("notify.left_out", {{"approval", approval}, {"reason", "too many notices are under way"}});
    return;
  }
  tasks_.spawn("tell " + approval, tell_one(approval));
}

asio::awaitable<void> Webhooks::stop() {
  tasks_.cancel();
  co_await tasks_.wait_empty(Deadline::after(std::chrono::seconds(1)));
}

asio::awaitable<void> Webhooks::tell_all() {
  auto list = co_await desk_.approvals(reader(), "pending", 1000);
  if (!list) co_return;
  boost::system::error_code ec;
  const bj::value parsed = bj::parse(*list, ec);
  if (ec) co_return;
  for (const bj::value& ask : parsed.at("approvals").as_array()) tell(text(ask.as_object(), "id"));
}

asio::awaitable<void> Webhooks::tell_one(std::string approval) {
  auto ask = co_await desk_.approval(reader(), approval);
  if (!ask) co_return;
  boost::system::error_code ec;
  const bj::value parsed = bj::parse(*ask, ec);
  if (ec || !parsed.is_object()) co_return;
  const std::string is = text(parsed.as_object(), "state");
  // A call that was held is sent as soon as it is approved: what people want to hear is that it was.
  const std::string state = is == "consumed" ? "approved" : is;
  const auto known = told_.find(approval);
  const std::string told = known == told_.end() ? std::string() : known->second;
  const bool waits = state == "pending";
  if (waits || is == "approved")
    told_[approval] = state;
  else
    told_.erase(approval);
  // Told already, or over without anybody having been told that it waits: nobody needs to hear of it.
  if (told == state || (!waits && told.empty())) co_return;
  for (const Webhook& hook : hooks_) {
    if (!waits && !hook.settings.answers) continue;
    std::string body = webhook_body(hook.settings, *ask, address_);
    if (!body.empty()) tasks_.spawn("notify " + approval, deliver(hook, approval, state, std::move(body)));
  }
}

// Whether a notice is still true: that one waits is no news once it does not.
bool Webhooks::is_stale(const std::string& approval, const std::string& state) const {
  if (state != "pending") return false;
  const auto known = told_.find(approval);
  return known == told_.end() || known->second != state;
}

asio::awaitable<void> Webhooks::deliver(const Webhook& hook, std::string approval, std::string state,
                                        std::string body) {
  const std::string id = approval + "/" + state;
  auto pause = std::chrono::duration_cast<Deadline::Clock::duration>(kFirstPause);
  for (int attempt = 1;; ++attempt) {
    const Status sent = co_await send(hook, id, body);
    if (sent) co_return;
    const bool again = attempt < kTries && sent.error().retry != RetryClass::never;
    log::warning("notify.failed",
                 {{"delivery", id}, {"to", hook.url.host}, {"reason", sent.error().message}, {"again", again}});
    if (!again) co_return;
    const bool went_on = co_await sleep_until(Deadline::after(pause));
    if (!went_on || is_stale(approval, state)) co_return;
    pause *= 4;
  }
}

asio::awaitable<Status> Webhooks::send(const Webhook& hook, const std::string& id, const std::string& body) {
  HttpClientRequest request;
  request.url = hook.url;
  request.headers.add("Content-Type", "application/json");
  request.headers.add("User-Agent", "sallyport");
  request.headers.add("Sallyport-Delivery", id);
  const std::string timestamp = std::to_string(clock_.now() / 1000);
  request.headers.add("Sallyport-Timestamp", timestamp);
  if (!hook.secret.empty())
    request.headers.add("Sallyport-Signature", webhook_signature(hook.secret.reveal(), timestamp, body));
  request.body = body;
  const Deadline deadline = Deadline::after(kWait);
  auto response = co_await client_.send(std::move(request), deadline);
  if (!response) {
    Error error = response.error();
    error.retry = RetryClass::later;  // the same delivery again does no harm: it says which one it is
    co_return std::unexpected(std::move(error));
  }
  auto rest = co_await response->read_all(kMostAnswer, deadline);
  const int status = response->status();
  if (status >= 200 && status < 300) co_return Status{};
  Error error = fail(ErrorCode::protocol, fmt::format("it answered {}", status)).error();
  error.retry = status == 429 || status >= 500 ? RetryClass::later : RetryClass::never;
  co_return std::unexpected(std::move(error));
}

}  // namespace sallyport::gateway
