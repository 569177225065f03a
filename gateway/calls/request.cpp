#include <fmt/format.h>

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

}  // namespace

std::optional<Request> read_request(const Inbound& inbound, Answer& fault) {
  const auto refuse = [&](std::string message) {
    fault = Answer::fail(mcp::code::kInvalidParams, std::move(message));
    return std::nullopt;
  };
  if (!inbound.params) return refuse("tools/call needs params with a `name`");
  // Only the call's own frame here; what stands in `arguments` is judged, and refused, with its reason, as a result.
  int names = 0, arguments = 0, metas = 0;
  for (const json::Member member : inbound.params.members()) {
    names += member.key.equals("name") ? 1 : 0;
    arguments += member.key.equals("arguments") ? 1 : 0;
    metas += member.key.equals("_meta") ? 1 : 0;
  }
  if (names > 1 || arguments > 1 || metas > 1)
    return refuse("params name a member twice: `name`, `arguments` and `_meta` may stand once");
  const json::Value name = inbound.params.find("name");
  if (!name || !name.is_string()) return refuse("tools/call needs a `name`, a string");
  const json::Value args = inbound.params.find("arguments");
  if (args && !args.is_object()) return refuse("`arguments` must be an object");
  const json::Value meta = inbound.params.find("_meta");
  if (meta && !meta.is_object()) return refuse("`_meta` must be an object");
  if (meta && meta.ambiguity()) return refuse("`_meta` has members that cannot be told apart");
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

std::string forwarded_meta(const Request& request) {
  std::string out;
  const json::Value meta = request.params.find("_meta");
  if (!meta) return out;
  for (const json::Member member : meta.members()) {
    const std::string name = member.name();
    if (name == "progressToken" || name.starts_with(mcp::kOwnPrefix)) continue;
    append(out, member.key.raw(), member.value.raw());
  }
  return out;
}

}  // namespace sallyport::gateway::calls
