#include <fmt/format.h>

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
  const json::Value meta = inbound.params.find("_meta");
  if (meta && !meta.is_object()) return refuse("`_meta` must be an object");
  if (meta && meta.ambiguity()) return refuse("`_meta` has members that cannot be told apart");
  if (auto unclear = meta ? unclear_name(meta, kMeta) : std::string(); !unclear.empty())
    return refuse("`_meta` cannot be read in one way: " + unclear);
  Request request;
  request.client = inbound.client;
  request.document = inbound.document;
  request.params = inbound.params;
  request.arguments = args;
  request.name = name.string();
  request.received = inbound.received;
  return request;
}

std::string forwarded_params(const Request& request, std::string_view tool) {
  std::string out = "\"name\":" + quote(tool);
  for (const json::Member member : request.params.members()) {
    if (member.key.equals("name") || member.key.equals("_meta") || member.key.equals("task")) continue;
    append(out, member.key.raw(), member.value.raw());
  }
  return out;
}

std::string forwarded_meta(const Request& request, std::string_view without) {
  std::string out;
  const json::Value meta = request.params.find("_meta");
  if (!meta) return out;
  for (const json::Member member : meta.members()) {
    const std::string name = member.name();
    if (name == "progressToken" || fold(name).value_or(name).starts_with(mcp::kOwnPrefix)) continue;
    if (!without.empty() && fold(name) == fold(without)) continue;
    append(out, member.key.raw(), member.value.raw());
  }
  return out;
}

}  // namespace sallyport::gateway::calls
