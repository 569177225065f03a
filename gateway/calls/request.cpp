#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "gateway/calls/call.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {
namespace {

void append(std::string& out, std::string_view name_raw, std::string_view value_raw) {
  if (!out.empty()) out += ',';
  out += name_raw;
  out += ':';
  out += value_raw;
}

// A member that some parser would take for one of these, though it is not (promise 10).
bool pretends(std::string_view name, std::string_view known) { return name != known && fold(name) == fold(known); }

// Names of a frame that could be read as another's: said in words, or empty.
std::string unclear_name(json::Value frame, std::span<const std::string_view> known) {
  std::set<std::string> seen;
  for (const json::Member member : frame.members()) {
    const std::string name = member.name();
    for (const std::string_view word : known) {
      if (pretends(name, word)) return fmt::format("the member `{}` could be taken for `{}`", visible(name), word);
    }
    if (!seen.insert(fold(name).value_or(name)).second)
      return fmt::format("the member `{}` stands twice, or in two spellings", visible(name));
  }
  return {};
}

constexpr std::array<std::string_view, 6> kParams{"name", "arguments",      "_meta",
                                                  "task", "inputResponses", "requestState"};
constexpr std::array<std::string_view, 2> kMeta{"progressToken", mcp::kKeyMeta};
constexpr std::array<std::string_view, 9> kOther{"name",    "arguments", "uri",  "ref",           "argument",
                                                 "context", "_meta",     "task", "inputResponses"};
// What a modern request says of its own leg alone.
constexpr std::array<std::string_view, 4> kOneLeg{mcp::meta::kProtocolVersion, mcp::meta::kClientCapabilities,
                                                  mcp::meta::kClientInfo, mcp::meta::kLogLevel};
constexpr std::array<std::string_view, 4> kReference{"type", "name", "uri", "value"};

// What is wrong with `_meta`, or empty.
std::string meta_fault(json::Value meta) {
  if (!meta) return {};
  if (!meta.is_object()) return "`_meta` must be an object";
  if (meta.ambiguity()) return "`_meta` has members that cannot be told apart";
  auto unclear = unclear_name(meta, kMeta);
  return unclear.empty() ? unclear : "`_meta` cannot be read in one way: " + unclear;
}

// Reads `ref` and `argument` of a completion; what is wrong with them, or empty.
std::string read_completion(json::Value params, Request& request) {
  const json::Value ref = params.find("ref");
  const json::Value argument = params.find("argument");
  if (!ref.is_object() || !argument.is_object()) return "completion/complete needs `ref` and `argument`, objects";
  for (const json::Value frame : {ref, argument}) {
    if (auto unclear = unclear_name(frame, kReference); !unclear.empty()) return unclear;
  }
  if (!argument.find("name").is_string() || !argument.find("value").is_string())
    return "`argument` needs a `name` and a `value`, strings";
  const bool prompt = ref.find("type").equals("ref/prompt");
  const json::Value target = ref.find(prompt ? "name" : "uri");
  if (!prompt && !ref.find("type").equals("ref/resource")) return "`ref.type` must be ref/prompt or ref/resource";
  if (!target.is_string()) return prompt ? "`ref` needs a `name`, a string" : "`ref` needs a `uri`, a string";
  (prompt ? request.name : request.uri) = target.string();
  return {};
}

// Params without `_meta`, as a document of its own: what rules, receipts and approvals take for the arguments.
std::shared_ptr<const json::Document> without_meta(json::Value params) {
  std::string text;
  for (const json::Member member : params.members()) {
    // What a further leg brings is judged on its own (InputLeg), so that all legs have the same arguments.
    const bool of_a_leg = member.key.equals("inputResponses") || member.key.equals("requestState");
    if (!of_a_leg && !member.key.equals("_meta")) append(text, member.key.raw(), member.value.raw());
  }
  return parsed("{" + text + "}");
}

// A name in `_meta` that means something on the client's leg only.
bool stays_here(const std::string& name) {
  return name == "progressToken" || fold(name).value_or(name).starts_with(mcp::kOwnPrefix) ||
         std::ranges::find(kOneLeg, name) != kOneLeg.end();
}

}  // namespace

std::optional<Request> read_request(const Inbound& inbound, Answer& fault) {
  const auto refuse = [&](std::string message) {
    fault = Answer::fail(mcp::code::kInvalidParams, std::move(message));
    return std::nullopt;
  };
  if (!inbound.params) return refuse("tools/call needs params with a `name`");
  // Only the call's own frame here; what stands in `arguments` is judged, and refused, with its reason, as a result.
  if (auto unclear = unclear_name(inbound.params, kParams); !unclear.empty())
    return refuse("params cannot be read in one way: " + unclear);
  const json::Value name = inbound.params.find("name");
  if (!name || !name.is_string()) return refuse("tools/call needs a `name`, a string");
  const json::Value args = inbound.params.find("arguments");
  if (args && !args.is_object()) return refuse("`arguments` must be an object");
  if (auto fault = meta_fault(inbound.params.find("_meta")); !fault.empty()) return refuse(std::move(fault));
  Request request;
  request.client = inbound.client;
  request.document = inbound.document;
  request.params = inbound.params;
  request.arguments = args;
  request.name = name.string();
  request.received = inbound.received;
  return request;
}

std::optional<Request> read_other(const Inbound& inbound, Method method, Answer& fault) {
  const auto refuse = [&](std::string message) {
    fault = Answer::fail(mcp::code::kInvalidParams, std::move(message));
    return std::nullopt;
  };
  const json::Value params = inbound.params;
  if (!params) return refuse(fmt::format("{} needs params", to_string(method)));
  if (auto unclear = unclear_name(params, kOther); !unclear.empty())
    return refuse("params cannot be read in one way: " + unclear);
  if (auto wrong = meta_fault(params.find("_meta")); !wrong.empty()) return refuse(std::move(wrong));
  Request request;
  request.method = method;
  request.client = inbound.client;
  request.document = inbound.document;
  request.params = params;
  request.received = inbound.received;
  if (method == Method::prompts_get) {
    const json::Value args = params.find("arguments");
    if (!params.find("name").is_string()) return refuse("prompts/get needs a `name`, a string");
    if (args && !args.is_object()) return refuse("`arguments` must be an object");
    request.name = params.find("name").string();
    request.arguments = args;
    return request;
  }
  if (method == Method::resources_read) {
    if (!params.find("uri").is_string()) return refuse("resources/read needs a `uri`, a string");
    request.uri = params.find("uri").string();
  } else if (auto wrong = read_completion(params, request); !wrong.empty()) {
    return refuse(std::move(wrong));
  }
  request.made = without_meta(params);
  if (!request.made) return refuse("params cannot be read");
  request.arguments = request.made->root();
  return request;
}

json::Value judged_arguments(const Call& call) {
  return call.input.judged ? call.input.judged->root() : call.request.arguments;
}

std::shared_ptr<const json::Document> parsed(std::string text) {
  const std::size_t bytes = text.size();
  auto document = json::Document::parse(std::move(text), {.bytes = bytes, .depth = 10'000});
  return document ? std::make_shared<const json::Document>(std::move(*document)) : nullptr;
}

Result<InputLeg> make_leg(json::Value arguments, int leg, std::string state,
                          std::shared_ptr<const json::Document> document, json::Value answers) {
  InputLeg out{leg, std::move(state), std::move(document), answers, nullptr};
  if (!answers) return out;
  std::string members = "\"inputResponses\":" + std::string(answers.raw());
  for (const json::Member member : arguments.members()) append(members, member.key.raw(), member.value.raw());
  const std::size_t bytes = members.size() + 2;
  auto judged = json::Document::parse("{" + members + "}", {.bytes = bytes, .depth = 10'000});
  if (!judged) return fail(judged.error());
  if (const auto mark = judged->root().ambiguity())
    return fail(ErrorCode::invalid, "at `" + visible(mark->pointer) + "` they can be read in two ways");
  out.judged = std::make_shared<const json::Document>(std::move(*judged));
  return out;
}

std::string stored_params(const Request& request) {
  const std::string params(request.params.raw());
  if (request.method == Method::tools_call) return params;
  return std::string(to_string(request.method)) + " " + params;
}

StoredParams read_stored(std::string text) {
  const std::size_t space = text.find(' ');
  if (text.starts_with('{') || space == std::string::npos) return {Method::tools_call, std::move(text)};
  const auto method = parse_method(std::string_view(text).substr(0, space));
  return {method.value_or(Method::tools_call), text.substr(space + 1)};
}

std::optional<Request> request_again(std::string sealed, const OperationRow& row, const ClientContext& client) {
  StoredParams kept = read_stored(std::move(sealed));
  const auto document = parsed(std::move(kept.params));
  if (!document) return std::nullopt;
  auto own = std::make_shared<ClientContext>(client);
  own->mount.server = row.server;
  Inbound stored;
  stored.client = std::move(own);
  stored.document = document;
  stored.params = stored.document->root();
  stored.received = row.created;
  Answer fault;
  const bool tool = kept.method == Method::tools_call;
  auto request = tool ? read_request(stored, fault) : read_other(stored, kept.method, fault);
  if (!request) return std::nullopt;
  if (tool || !request->name.empty()) request->name = row.tool;
  request->target = {row.server, row.tool, {}};
  request->key = row.key;
  return request;
}

std::string forwarded_params(const Request& request, std::string_view tool) {
  std::string out;
  const bool named = request.method == Method::tools_call || request.method == Method::prompts_get;
  if (named) out = "\"name\":" + quote(tool);
  for (const json::Member member : request.params.members()) {
    if ((named && member.key.equals("name")) || member.key.equals("_meta") || member.key.equals("task")) continue;
    // Answers go to a server only with the state that it gave for them, and judged (InputLeg).
    if (member.key.equals("inputResponses") || member.key.equals("requestState")) continue;
    const bool prompt = request.method == Method::completion_complete && !request.name.empty();
    if (prompt && member.key.equals("ref")) {
      append(out, member.key.raw(), mcp::replace_value(member.value, "name", quote(tool)));
    } else {
      append(out, member.key.raw(), member.value.raw());
    }
  }
  return out;
}

std::string forwarded_meta(const Request& request, std::string_view without) {
  std::string out;
  const json::Value meta = request.params.find("_meta");
  if (!meta) return out;
  for (const json::Member member : meta.members()) {
    const std::string name = member.name();
    if (stays_here(name)) continue;
    if (!without.empty() && fold(name) == fold(without)) continue;
    append(out, member.key.raw(), member.value.raw());
  }
  return out;
}

std::vector<std::string> forwarded_names(const Request& request) {
  std::vector<std::string> out;
  for (const json::Member member : request.params.find("_meta").members()) {
    if (!stays_here(member.name())) out.push_back(member.name());
  }
  return out;
}

bool forwards_more(const Request& request) {
  for (const json::Member member : request.params.members()) {
    const json::Value& key = member.key;
    if (!key.equals("name") && !key.equals("arguments") && !key.equals("_meta") && !key.equals("task")) return true;
  }
  return false;
}

}  // namespace sallyport::gateway::calls
