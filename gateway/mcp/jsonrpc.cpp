#include "gateway/mcp/jsonrpc.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "gateway/mcp/modern.hpp"
#include "gateway/mcp/protocol.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::mcp {
namespace {

// Ids are kept while their call is open, so a peer must not make us hold long ones.
constexpr std::size_t kMaxIdBytes = 512;

constexpr std::array<std::string_view, 6> kEnvelope{"jsonrpc", "id", "method", "params", "result", "error"};
// Members of params that decide what is judged. Others are judged where they are used.
constexpr std::array<std::string_view, 4> kJudged{"name", "arguments", "uri", "_meta"};

std::unexpected<IncomingFault> invalid(std::string message, std::string_view id = "null") {
  return std::unexpected(IncomingFault{RpcError{code::kInvalidRequest, std::move(message), {}}, std::string(id)});
}

bool is_integer_token(std::string_view token) {
  if (token.starts_with('-')) token.remove_prefix(1);
  return !token.empty() && std::ranges::all_of(token, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_id(json::Value value) {
  if (value.raw().size() > kMaxIdBytes) return false;
  return value.is_string() || (value.is_number() && is_integer_token(value.number()));
}

// Parsers differ in which of two equal names they take, and some ignore case: such an object could be judged as one
// message and executed as another. Returns what is wrong, or nothing.
std::optional<std::string> doubtful_name(json::Value object, std::span<const std::string_view> declared) {
  std::vector<std::string> folded;
  folded.reserve(object.size());
  for (const json::Member member : object.members()) {
    const std::string name = member.name();
    std::string key = fold(name).value_or(name);
    for (const std::string_view known : declared) {
      if (key == known && name != known)
        return "the member " + quote(name) + " looks like `" + std::string(known) + "`";
    }
    folded.push_back(std::move(key));
  }
  std::ranges::sort(folded);
  const auto twin = std::ranges::adjacent_find(folded);
  if (twin == folded.end()) return std::nullopt;
  return "the member " + quote(*twin) + " occurs twice";
}

std::expected<void, IncomingFault> read_request(json::Value root, json::Value method, Message& message) {
  const json::Value id = root.find("id");
  if (!method.is_string()) return invalid("`method` must be a string", message.id);
  if (root.find("result") || root.find("error")) {
    return invalid("a message has either `method`, or `result` or `error`", message.id);
  }
  // `"id": null` is no notification: whoever sent it waits for an answer.
  if (id && !is_id(id)) return invalid("`id` of a request must be a string or an integer");
  message.kind = id ? Message::Kind::request : Message::Kind::notification;
  message.method = method.string();
  const json::Value params = root.find("params");
  if (!params || params.is_null()) return {};
  if (!params.is_object()) return invalid("`params` must be an object", message.id);
  if (auto doubt = doubtful_name(params, kJudged)) return invalid("in `params`, " + *doubt, message.id);
  message.params = params;
  return {};
}

std::expected<void, IncomingFault> read_response(json::Value root, Message& message) {
  const json::Value id = root.find("id");
  const json::Value result = root.find("result");
  const json::Value error = root.find("error");
  if (result && error) return invalid("an answer has either `result` or `error`, not both", message.id);
  if (!result && !error) return invalid("the message has no `method`, `result` or `error`", message.id);
  if (result) {
    if (!id || !is_id(id)) return invalid("`id` of a result must be a string or an integer");
    if (!result.is_object()) return invalid("`result` must be an object", message.id);
    message.kind = Message::Kind::response;
    message.result = result;
    return {};
  }
  // A peer that could not read our id answers with null or none.
  if (id && !id.is_null() && !is_id(id)) return invalid("`id` of an error must be a string, an integer or null");
  if (!id) message.id = "null";
  const json::Value number = error.find("code");
  const json::Value text = error.find("message");
  if (!error.is_object() || !number || !number.is_number() || !number.integer() || !text || !text.is_string()) {
    return invalid("`error` must be an object with an integer `code` and a string `message`", message.id);
  }
  message.kind = Message::Kind::error_response;
  message.error = error;
  return {};
}

std::expected<Message, IncomingFault> read_message(json::Value root, std::shared_ptr<const json::Document> document) {
  if (!root.is_object()) return invalid("a message must be a JSON object");
  Message message;
  message.document = std::move(document);
  if (const json::Value id = root.find("id"); id && (is_id(id) || id.is_null())) message.id = id.raw();
  const std::string_view known_id = message.id.empty() ? "null" : message.id;
  if (auto doubt = doubtful_name(root, kEnvelope)) return invalid(*doubt, known_id);
  const json::Value version = root.find("jsonrpc");
  if (!version || !version.equals("2.0")) return invalid("`jsonrpc` must be \"2.0\"", known_id);
  const json::Value method = root.find("method");
  auto read = method ? read_request(root, method, message) : read_response(root, message);
  if (!read) {
    if (read.error().id.empty()) read.error().id = "null";
    return std::unexpected(std::move(read.error()));
  }
  return message;
}

// Requests of one batch with one id: whoever gets two answers with it could take either for either.
void set_twins_aside(Incoming& incoming) {
  const auto is_request = [](const Message& message) { return message.kind == Message::Kind::request; };
  std::map<std::string, std::size_t> seen;
  for (const Message& message : incoming.messages) {
    if (is_request(message)) ++seen[id_key(message.id)];
  }
  std::erase_if(incoming.messages, [&](const Message& message) {
    if (!is_request(message) || seen[id_key(message.id)] == 1) return false;
    incoming.faults.push_back(
        {{code::kInvalidRequest, "several requests of this batch have this id: none of them was run", {}},
         std::string(message.id)});
    return true;
  });
}

// The bytes of each member with the white space around it, up to the comma or brace.
struct Piece {
  json::Member member;
  std::string_view text;
};

std::vector<Piece> pieces_of(json::Value object) {
  std::vector<Piece> pieces;
  pieces.reserve(object.size());
  const std::string_view raw = object.raw();
  const std::size_t base = object.offset();
  std::size_t begin = 1;
  for (const json::Member member : object.members()) {
    const std::size_t value_end = member.value.offset() - base + member.value.raw().size();
    const std::size_t stop = raw.find_first_of(",}", value_end);
    pieces.push_back({member, raw.substr(begin, stop - begin)});
    begin = stop + 1;
  }
  return pieces;
}

bool has_own_key(json::Value meta) {
  if (!meta.is_object()) return false;
  for (const json::Member member : meta.members()) {
    const std::string name = member.name();
    if (fold(name).value_or(name).starts_with(kOwnPrefix)) return true;
  }
  return false;
}

}  // namespace

std::string id_key(std::string_view token) {
  if (!token.starts_with('"')) {
    std::string key = "n";
    const bool negative = token.starts_with('-');
    if (negative) token.remove_prefix(1);
    if (negative && token != "0") key += '-';
    return key.append(token);
  }
  if (!token.contains('\\')) return "s" + std::string(token.substr(1, token.size() - 2));
  const auto decoded = json::Document::parse(std::string(token));
  return "s" + (decoded ? decoded->root().string() : std::string(token));
}

IncomingResult parse_incoming(std::string text, const json::Limits& limits, bool allow_batch) {
  auto parsed = json::Document::parse(std::move(text), limits);
  if (!parsed) {
    const int number = parsed.error().code == ErrorCode::limit ? code::kInvalidRequest : code::kParseError;
    return std::unexpected(IncomingFault{RpcError{number, parsed.error().message, {}}, "null"});
  }
  const auto document = std::make_shared<const json::Document>(std::move(*parsed));
  const json::Value root = document->root();
  Incoming incoming;
  if (!root.is_array()) {
    auto message = read_message(root, document);
    if (!message) return std::unexpected(std::move(message.error()));
    incoming.messages.push_back(std::move(*message));
    return incoming;
  }
  if (!allow_batch) return invalid("batches are not part of this protocol version");
  if (root.size() == 0) return invalid("a batch must not be empty");
  incoming.batch = true;
  incoming.messages.reserve(std::min<std::size_t>(root.size(), 256));
  for (const json::Value element : root.elements()) {
    auto message = read_message(element, document);
    if (message) {
      incoming.messages.push_back(std::move(*message));
    } else {
      incoming.faults.push_back(std::move(message.error()));
    }
  }
  set_twins_aside(incoming);
  return incoming;
}

std::string request(std::string_view id, std::string_view method, std::string_view params_raw) {
  std::string out = R"({"jsonrpc":"2.0","id":)";
  out.reserve(out.size() + id.size() + method.size() + params_raw.size() + 40);
  out.append(id).append(R"(,"method":)").append(quote(method));
  if (!params_raw.empty()) out.append(R"(,"params":)").append(params_raw);
  return out += '}';
}

std::string notification(std::string_view method, std::string_view params_raw) {
  std::string out = R"({"jsonrpc":"2.0","method":)";
  out.append(quote(method));
  if (!params_raw.empty()) out.append(R"(,"params":)").append(params_raw);
  return out += '}';
}

std::string response(std::string_view id, std::string_view result_raw) {
  std::string out = R"({"jsonrpc":"2.0","id":)";
  out.reserve(out.size() + id.size() + result_raw.size() + 16);
  return out.append(id).append(R"(,"result":)").append(result_raw).append("}");
}

std::string error_response(std::string_view id, const RpcError& error) {
  std::string out = R"({"jsonrpc":"2.0","id":)";
  out.append(id.empty() ? "null" : id).append(R"(,"error":{"code":)").append(std::to_string(error.code));
  out.append(R"(,"message":)").append(quote(error.message));
  if (!error.data.empty()) out.append(R"(,"data":)").append(error.data);
  return out.append("}}");
}

std::string splice_member(json::Value object, std::string_view name, std::string_view value_raw) {
  std::string out = "{";
  out.reserve(object.raw().size() + name.size() + value_raw.size() + 8);
  out.append(quote(name)).append(":").append(value_raw);
  for (const Piece& piece : pieces_of(object)) {
    if (piece.member.key.equals(name)) continue;
    out.append(",").append(piece.text);
  }
  return out += '}';
}

std::string replace_value(json::Value object, std::string_view name, std::string_view value_raw) {
  const json::Value old = object.find(name);
  if (!old) return splice_member(object, name, value_raw);
  const std::string_view raw = object.raw();
  const std::size_t begin = old.offset() - object.offset();
  std::string out;
  out.reserve(raw.size() + value_raw.size());
  out.append(raw.substr(0, begin)).append(value_raw).append(raw.substr(begin + old.raw().size()));
  return out;
}

std::string without_members(json::Value object, std::span<const std::string_view> names) {
  const auto goes = [&](json::Value key) {
    return std::ranges::any_of(names, [&](std::string_view name) { return key.equals(name); });
  };
  bool changes = false;
  for (const json::Member member : object.members()) changes = changes || goes(member.key);
  if (!changes) return std::string(object.raw());
  std::string out = "{";
  out.reserve(object.raw().size());
  for (const Piece& piece : pieces_of(object)) {
    if (goes(piece.member.key)) continue;
    if (out.size() > 1) out += ',';
    out += piece.text;
  }
  return out += '}';
}

std::string with_own_meta(json::Value meta, std::string_view key, std::string_view own) {
  std::string out = "{";
  if (!own.empty()) out.append(quote(key)).append(":").append(own);
  if (meta && meta.is_object()) {
    for (const Piece& piece : pieces_of(meta)) {
      const std::string name = piece.member.name();
      if (fold(name).value_or(name).starts_with(kOwnPrefix)) continue;
      if (out.size() > 1) out += ',';
      out += piece.text;
    }
  }
  return out += '}';
}

namespace {

// `own` first in each `_meta` of the object, every key of ours that the server put there removed.
std::string edit_meta(json::Value result, std::string_view own) {
  const auto touched = [](const json::Member& member) {
    return member.key.equals("_meta") && has_own_key(member.value);
  };
  bool changes = !own.empty();
  for (const json::Member member : result.members()) changes = changes || touched(member);
  if (!changes) return std::string(result.raw());
  // Every `_meta` is edited: which of two a client takes is not ours to guess.
  const std::string_view raw = result.raw();
  std::string out;
  out.reserve(raw.size() + own.size() + 32);
  std::size_t copied = 0;
  for (const json::Member member : result.members()) {
    if (!member.key.equals("_meta") || (own.empty() && !member.value.is_object())) continue;
    const std::size_t begin = member.value.offset() - result.offset();
    out.append(raw.substr(copied, begin - copied)).append(with_own_meta(member.value, kCallMeta, own));
    copied = begin + member.value.raw().size();
  }
  return out.append(raw.substr(copied));
}

}  // namespace

std::string splice_call_meta(json::Value result, std::string_view own) {
  if (result.find("resultType").is_string()) {
    const auto neutral =
        json::Document::parse(without_era_members(result), {.bytes = result.raw().size(), .depth = 10'000});
    return neutral ? splice_call_meta(neutral->root(), own) : std::string(result.raw());
  }
  if (!own.empty() && !result.find("_meta")) return splice_member(result, "_meta", with_own_meta({}, kCallMeta, own));
  return edit_meta(result, own);
}

std::string without_own_meta(json::Value object) { return edit_meta(object, {}); }

}  // namespace sallyport::gateway::mcp
