// The scope of a write: what it touches, as a list of segments within its server (design section 2).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::trust {

struct Scope {
  std::string server;
  std::vector<std::string> segments;  // as written, values percent-encoded; empty: the whole server
  bool has_contract_scope = false;    // a template gave it; false: the server for want of one, or of a usable value

  // For people and receipts: the segments joined by `/`; the server's id if there are none.
  [[nodiscard]] std::string name() const;
  // For stores: one text per scope and back, `server:segment/segment`.
  [[nodiscard]] std::string key() const;
  [[nodiscard]] static std::optional<Scope> from_key(std::string_view key);

  friend bool operator==(const Scope&, const Scope&) = default;
};

// `contract` may be null, `arguments` absent. A value that is absent, null, empty, no scalar or a number other than an
// int64 gives the whole server.
[[nodiscard]] Scope scope_of(const Contract* contract, std::string_view server, json::Value arguments);

// Of one server, and one is a prefix of the other, segment by segment.
[[nodiscard]] bool overlap(const Scope& a, const Scope& b);

// A template `orders/{/customer_id}` in its parts; ErrorCode::invalid says what is wrong with it.
struct TemplatePart {
  bool pointer = false;  // else literal text
  std::string text;
};
[[nodiscard]] Result<std::vector<TemplatePart>> parse_template(std::string_view text);

// The contract's `says` line for approvers: values as JSON with hidden characters visible, so that no value can write
// words of its own into the sentence; `(absent)` where there is none. Nothing is cut.
// `hidden`: pointers whose values (and what is under them) are shown as `***`.
[[nodiscard]] std::string says_line(std::string_view says, json::Value arguments,
                                    std::span<const std::string> hidden = {});
// The same with `…` for every value: for notices that must not carry any.
[[nodiscard]] std::string says_heading(std::string_view says);

}  // namespace sallyport::trust
