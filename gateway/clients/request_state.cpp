#include "gateway/clients/request_state.hpp"

#include <algorithm>

#include "schemas/core/encoding.hpp"
#include "schemas/core/writer.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kVersion = "v1.";
constexpr std::string_view kAssociated = "sallyport/request-state/v1";
constexpr std::string_view kServersKey = "server.";

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::invalid, std::move(message), ErrorSource::client);
}

// As InputNeeded has it. What a resource is read by stands in its name.
std::string arguments_digest(const LegOf& leg) {
  const json::Value arguments = leg.params.find("arguments");
  return trust::digest_text(arguments ? arguments.raw() : std::string_view());
}
bool has_arguments(const LegOf& leg) { return leg.method != "resources/read"; }

bool is_ours(const std::string& key) { return fold(key).value_or(key).starts_with(mcp::kOwnPrefix); }

// Only keys that could be taken for ours, or for one that was changed for that, are changed.
std::string for_client(std::string key) {
  const bool changes = is_ours(key) || key.starts_with(kServersKey);
  return changes ? std::string(kServersKey) + key : std::move(key);
}

// nullopt: it is no answer for the server.
std::optional<std::string> for_server(std::string key) {
  if (is_ours(key)) return std::nullopt;
  if (key.starts_with(kServersKey)) key.erase(0, kServersKey.size());
  return key;
}

}  // namespace

RequestStates::RequestStates(std::string_view key, Entropy& entropy) : entropy_(entropy) {
  if (key.size() == key_.size()) {
    std::ranges::copy(key, key_.begin());
  } else {
    entropy_.fill(key_);
  }
}

RequestStates::~RequestStates() { trust::wipe(key_.data(), key_.size()); }

std::string RequestStates::seal(const InputNeeded& needed, const LegOf& leg) {
  json::Writer plain;
  plain.begin_object().member("operation", needed.operation).member("leg", static_cast<std::uint64_t>(needed.leg));
  plain.member("principal", leg.client.principal.id).member("mount", leg.client.mount.server);
  plain.member("method", leg.method).member("name", leg.name).member("arguments", needed.arguments);
  plain.member("server", needed.server).member("tool", needed.tool).member("definition", needed.definition);
  if (!needed.state.empty()) plain.key("state").raw(needed.state);
  plain.member("expires", static_cast<std::uint64_t>(needed.expires)).end_object();
  trust::Nonce nonce{};
  entropy_.fill(nonce);
  return std::string(kVersion) + to_base64url(trust::seal(key_, nonce, plain.text(), kAssociated));
}

Result<RequestStates::Opened> RequestStates::open(std::string_view state, const LegOf& leg, UnixMillis now) const {
  const auto sealed = state.size() <= kLongest && state.starts_with(kVersion)
                          ? from_base64url(state.substr(kVersion.size()))
                          : std::nullopt;
  const auto plain = sealed ? trust::open(key_, *sealed, kAssociated) : Result<std::string>(refuse(""));
  const auto document = plain ? json::Document::parse(*plain) : Result<json::Document>(refuse(""));
  if (!document) return refuse("The requestState is not one of this gateway's, or was altered; call without it.");
  const json::Value root = document->root();
  const std::string principal = root.find("principal").string();
  const bool adopted = leg.client.principal.anonymous && principal.starts_with("anonymous:");
  if (!adopted && principal != leg.client.principal.id) {
    return refuse("The requestState was given to another client; call without it.");
  }
  const bool same = root.find("mount").equals(leg.client.mount.server) && root.find("method").equals(leg.method) &&
                    root.find("name").equals(leg.name) &&
                    (!has_arguments(leg) || root.find("arguments").equals(arguments_digest(leg)));
  if (!same) return refuse("The requestState belongs to another call; repeat that call as it was, or call without it.");
  if (root.find("expires").integer().value_or(0) <= now) {
    return refuse("The requestState has expired; call without it.");
  }
  Opened opened;
  opened.principal = principal;
  opened.given.operation = root.find("operation").string();
  opened.given.leg = static_cast<int>(root.find("leg").integer().value_or(0));
  if (const json::Value own = root.find("state")) opened.given.state = own.raw();
  return opened;
}

std::string input_requests(json::Value requests) {
  std::string out = "{";
  for (const json::Member member : requests.members()) {
    if (out.size() > 1) out += ',';
    out.append(quote(for_client(member.name()))).append(":").append(member.value.raw());
  }
  return out += '}';
}

std::shared_ptr<const json::Document> input_responses(json::Value responses) {
  if (!responses.is_object()) return nullptr;
  std::string text = "{";
  for (const json::Member member : responses.members()) {
    const auto key = for_server(member.name());
    if (!key) continue;
    if (text.size() > 1) text += ',';
    text.append(quote(*key)).append(":").append(member.value.raw());
  }
  text += '}';
  const std::size_t bytes = text.size();
  auto document = json::Document::parse(std::move(text), {.bytes = bytes, .depth = 10'000});
  return document ? std::make_shared<const json::Document>(std::move(*document)) : nullptr;
}

}  // namespace sallyport::gateway
