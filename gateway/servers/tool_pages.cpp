#include "gateway/servers/tool_pages.hpp"

#include "gateway/base/log.hpp"
#include "gateway/mcp/jsonrpc.hpp"
#include "gateway/servers/envelope.hpp"
#include "gateway/servers/params.hpp"

namespace sallyport::gateway::servers {

std::string ToolPages::next_params() const { return cursor_.empty() ? "{}" : "{\"cursor\":" + cursor_ + "}"; }

Status ToolPages::take(ServerAnswer answer) {
  if (answer.kind == ServerAnswer::Kind::error && cursor_.empty() && answer.error.find("code") &&
      answer.error.find("code").integer() == mcp::code::kMethodNotFound) {
    done_ = true;  // a server without tools
    return {};
  }
  if (answer.kind != ServerAnswer::Kind::result) {
    return fail(answer.timed_out ? ErrorCode::timeout : ErrorCode::unavailable,
                "server `" + server_ + "`: no list of tools: " + describe_failure(answer), ErrorSource::server,
                RetryClass::later);
  }
  const json::Value tools = answer.result.find("tools");
  if (!tools || !tools.is_array()) {
    return fail(ErrorCode::protocol, "server `" + server_ + "`: its answer to `tools/list` has no array `tools`",
                ErrorSource::server);
  }
  for (const json::Value tool : tools.elements()) {
    if (listing_.tools.size() >= max_tools_) {
      cut("too many tools");
      break;
    }
    if (tool.is_object()) {
      listing_.tools.push_back(tool);
    } else {
      log::warning("server.tool_is_no_object", {{"server", server_}, {"tool", tool.raw()}});
    }
  }
  const Millis ttl = ttl_of(answer.result).value_or(Millis(0));
  ttl_ = std::min(ttl_.value_or(ttl), ttl);
  bytes_ += answer.document->text().size();
  listing_.pages.push_back(std::move(answer.document));
  const json::Value next = answer.result.find("nextCursor");
  if (!next || next.is_null()) {
    done_ = true;
  } else if (!next.is_string()) {
    cut("`nextCursor` is no string");
  } else if (!seen_.emplace(next.raw()).second) {
    cut("its cursor does not advance");
  } else if (listing_.pages.size() >= max_pages_) {
    cut("too many pages");
  } else if (bytes_ > max_bytes_) {
    cut("its pages are too large");
  } else {
    cursor_ = std::string(next.raw());
  }
  return {};
}

void ToolPages::cut(std::string_view reason) {
  done_ = true;
  log::warning(
      "server.tools_cut",
      {{"server", server_}, {"reason", reason}, {"tools", listing_.tools.size()}, {"pages", listing_.pages.size()}});
}

ToolListing ToolPages::finish() { return std::move(listing_); }

}  // namespace sallyport::gateway::servers
