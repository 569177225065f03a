// What goes back to the client (design section 9): a refusal as a tool result with one sentence on what happened,
// whether the tool ran, and what to do; and the `dev.sallyport/call` object. Pure text; no state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/ports/inbound.hpp"
#include "gateway/ports/records.hpp"
#include "schemas/core/json.hpp"
#include "schemas/model/effect.hpp"
#include "schemas/model/reason.hpp"

namespace sallyport::gateway::calls {

// `dev.sallyport/call`. Absent beats null.
struct CallMeta {
  std::optional<ReasonCode> code;
  Verdict verdict = Verdict::deny;
  Outcome outcome = Outcome::none;
  Retry retry = Retry::never;
  std::string operation, approval, receipt;
  std::vector<Reason> reasons;  // rule names stay in the receipt
  bool replayed = false;
  bool was_read = false;    // a read that was sent, and of which there is no result to hand on
  bool unrecorded = false;  // the outcome could not be stored (promise 7)
};

[[nodiscard]] std::string to_json(const CallMeta& meta);
[[nodiscard]] Retry retry_for(ReasonCode code);

// `isError` result. The text: `sentence`, then whether it ran, then the advice for the code. `servers_words`: a block
// of its own, labelled with the server's id.
[[nodiscard]] std::string refusal_result(const CallMeta& meta, std::string_view sentence, std::string_view server = {},
                                         std::string_view servers_words = {});

// For methods whose results cannot say isError: a JSON-RPC error with a number of our own and the same object as data.
[[nodiscard]] Answer refusal_error(const CallMeta& meta, std::string_view sentence);

// The one reason why, and with it what the client is to do.
void give_reason(CallMeta& meta, ReasonCode code, std::string sentence);

// Whether it is one of ours, made by refusal_result(); and the same as an error, for such methods. Of an unknown
// resource legacy clients know a number and want its URI.
[[nodiscard]] bool is_refusal(std::string_view result);
[[nodiscard]] Answer as_error(Answer answer);
[[nodiscard]] mcp::RpcError not_found(std::string sentence, const std::string& uri);

// What is told of an operation that was refused earlier, and of one that is still unknown.
[[nodiscard]] Answer refused_before(const OperationRow& row);
[[nodiscard]] Answer still_unknown(const OperationRow& row, std::string_view why = {});  // why it was not sent again
// What is told of an operation whose answer was lost, and of which it is known by now what became of it.
[[nodiscard]] std::string resolved_result(const OperationRow& row);
// A repeat with the key of an operation that is under way.
[[nodiscard]] Answer key_in_flight(const OperationRow& row);

// The server's result with our object spliced in.
[[nodiscard]] std::string marked_result(json::Value result, const CallMeta& meta);

}  // namespace sallyport::gateway::calls
