// The API's JSON as text for people (docs/control-api.md has the shapes). Pure. What is missing is left out, what is
// not understood is shown as JSON, nothing is cut silently; hidden characters are visible. Every text ends with a
// newline. A text that is no JSON is a fault of ours and is shown as it came.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/fault.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway::cli {

[[nodiscard]] std::string render_approvals(std::string_view json, UnixMillis now);  // {"approvals":[…]}
[[nodiscard]] std::string render_approval(std::string_view json, UnixMillis now);   // the page of section 5
[[nodiscard]] std::string render_grants(std::string_view json, UnixMillis now);     // {"grants":[…]} or one
[[nodiscard]] std::string render_operations(std::string_view json);
[[nodiscard]] std::string render_operation(std::string_view json);  // with its timeline
[[nodiscard]] std::string render_story(std::string_view json);      // an operation and all that happened, in order
[[nodiscard]] std::string render_receipts(std::string_view json);
[[nodiscard]] std::string render_receipt(std::string_view json);
[[nodiscard]] std::string render_opened(std::string_view json);  // of `receipts open`
[[nodiscard]] std::string render_stops(std::string_view json);
[[nodiscard]] std::string render_stop(std::string_view json);
[[nodiscard]] std::string render_me(std::string_view json);
[[nodiscard]] std::string render_tools(std::string_view json, std::string_view only_server = {});
[[nodiscard]] std::string render_explanation(std::string_view json);
[[nodiscard]] std::string render_status(std::string_view json);
[[nodiscard]] std::string render_call(std::string_view json);       // a CallToolResult: its content
[[nodiscard]] std::string render_call_note(std::string_view json);  // what the gateway says of it; empty: nothing
// What is in force, what waits, what was refused.
[[nodiscard]] std::string render_policy(std::string_view json);
// Definitions in full, with differences and findings; `all`: settled ones too, by name.
[[nodiscard]] std::string render_trust_review(std::string_view json, bool all = false);
[[nodiscard]] std::string render_trust_report(std::string_view json);  // Markdown
[[nodiscard]] std::string render_accepted(std::string_view json);

// `file:line:column: error: …`, one a line, and how many there are.
[[nodiscard]] std::string render_faults(const Faults& faults);
[[nodiscard]] std::string faults_json(const Faults& faults);  // {"faults":[…]}, one line

// Rows of cells as columns, two spaces between; the last one runs on. `head` in capitals.
[[nodiscard]] std::string render_table(const std::vector<std::string>& head,
                                       const std::vector<std::vector<std::string>>& rows);

}  // namespace sallyport::gateway::cli
