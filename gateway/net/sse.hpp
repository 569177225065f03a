// Server-sent events as the WHATWG specification has them: an incremental reader and a writer. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/result.hpp"

namespace sallyport::gateway {

struct SseEvent {
  std::string event;              // "" means "message"
  std::string data;               // lines joined by LF; may be empty (a priming event): callers pass those over
  std::optional<std::string> id;  // the `id` field of this very event, if it had one
};

// Bytes of an event stream in any pieces; CR, LF and CRLF end lines, also when cut in two. An event that the stream's
// end cuts off is never delivered.
class SseReader {
 public:
  // `max_event`: bytes of one event as sent, field names included; an unfinished line counts.
  explicit SseReader(std::size_t max_event) : max_event_(max_event) {}
  // Appends whole events to `out`. limit: an event is too large; the reader is then of no further use.
  Status feed(std::string_view bytes, std::vector<SseEvent>& out);
  [[nodiscard]] const std::string& last_event_id() const { return last_id_; }
  [[nodiscard]] std::optional<std::uint64_t> retry_ms() const { return retry_; }
  [[nodiscard]] bool inside_event() const { return !line_.empty() || has_data_ || event_bytes_ > 0; }

 private:
  void end_line(std::vector<SseEvent>& out);
  void field(std::string_view name, std::string_view value);
  std::size_t max_event_;
  std::size_t event_bytes_ = 0;
  std::string line_;
  bool after_cr_ = false;
  bool at_start_ = true;
  bool has_data_ = false;
  SseEvent event_;
  std::string last_id_;
  std::optional<std::uint64_t> retry_;
};

// One event, blank line included. The data is split at CR, LF and CRLF; line ends and NUL in event and id are left out.
[[nodiscard]] std::string sse_event(const SseEvent& event);
[[nodiscard]] std::string sse_data(std::string_view data);        // an event with nothing but data
[[nodiscard]] std::string sse_retry(std::uint64_t milliseconds);  // a `retry` field on its own
[[nodiscard]] std::string sse_comment(std::string_view text);     // keep-alive: ": text" and a blank line

}  // namespace sallyport::gateway
