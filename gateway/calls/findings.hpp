// What the answer of one attempt proves (design section 7): pure judgements, on which retries, conclusions and lookups
// rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateway/calls/call.hpp"
#include "gateway/calls/operation_table.hpp"
#include "gateway/ports/server_link.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::trust {
enum class ErrorMeaning : std::uint8_t;
}

namespace sallyport::gateway::calls {

enum class Proof : unsigned char {
  applied,    // a good answer
  none,       // an error that the contract maps to none
  transient,  // the same, and worth another attempt
  not_sent,   // no byte of the request left
  lost,       // no answer, or one of the wrong id or shape
  answered,   // an error that nothing explains
};

struct Finding {
  Proof proof = Proof::lost;
  std::string basis;
  trust::ResultStatus status = trust::ResultStatus::unknown;
};

// The server wants to know something before it goes on (ports/input.hpp): neither an answer nor none.
[[nodiscard]] bool wants_input(const Call& call, const ServerAnswer& answer);

[[nodiscard]] Finding judge_answer(const Call& call, const ServerAnswer& answer);

// What an answered error means by the contract; `unknown` without one.
[[nodiscard]] trust::ErrorMeaning meaning_of(const trust::Contract* contract, const ServerAnswer& answer);

// Whether the call may be sent once more after this: what provably did not run, or what is safe to repeat. `keyed`: the
// server knows the call by a key, and gets the same one again.
[[nodiscard]] bool may_send_again(Proof proof, Repeat repeat, bool keyed);
// Whether the server is given a key that it knows this call by. One that only the client and the gateway know is none.
[[nodiscard]] bool is_keyed(const Call& call);

// What the last attempt's proof makes of the operation. `doubtful`: an earlier attempt may have run, so that this one
// having done nothing proves nothing.
struct Conclusion {
  Event event = Event::lose;
  Unknown unknown = Unknown::no;
};
[[nodiscard]] Conclusion conclusion_of(Proof proof, bool is_read, bool doubtful);

// Faults of a result that must not pass as good: nullopt, or why it is withheld; `warning`: passed on, marked.
[[nodiscard]] std::optional<std::string> judge_result(const Call& call, const ServerAnswer& answer,
                                                      std::string& warning);

// What no record shows of a result: its pointers count from structuredContent.
[[nodiscard]] std::vector<std::string> hidden_in_result(const Call& call, json::Value content);

[[nodiscard]] bool is_error_result(const ServerAnswer& answer);
[[nodiscard]] std::optional<std::int64_t> error_code(const ServerAnswer& answer);

// Whether an object has the shape of that method's result; anything else is no answer.
[[nodiscard]] bool is_result_of(Method method, json::Value result);
[[nodiscard]] inline bool is_tool_result(json::Value result) { return is_result_of(Method::tools_call, result); }

// Whether a condition of the trust file certainly holds for the structured content of a result.
[[nodiscard]] bool result_fits(const trust::Raw& condition, json::Value result);
// The same, told apart from what cannot be judged: nullopt.
[[nodiscard]] std::optional<bool> judge_condition(const trust::Raw& condition, json::Value structured);

// The text of a result that is longer than `most` bytes, cut to about that: text blocks from the front, nothing else.
[[nodiscard]] std::string cut_result(json::Value result, std::size_t most);

}  // namespace sallyport::gateway::calls
