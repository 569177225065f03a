#include "gateway/net/sse.hpp"

#include <algorithm>
#include <charconv>

namespace sallyport::gateway {

Status SseReader::feed(std::string_view bytes, std::vector<SseEvent>& out) {
  while (!bytes.empty()) {
    const bool second_half = after_cr_ && bytes.front() == '\n';  // of a CRLF whose CR has ended the line already
    after_cr_ = false;
    if (second_half) {
      bytes.remove_prefix(1);
      continue;
    }
    const std::string_view to_lf = bytes.substr(0, bytes.find('\n'));
    const std::string_view piece = to_lf.substr(0, to_lf.find('\r'));
    if (piece.size() > max_event_ - event_bytes_) return fail(ErrorCode::limit, "an event is larger than the limit");
    event_bytes_ += piece.size();
    line_ += piece;
    bytes.remove_prefix(piece.size());
    if (bytes.empty()) break;
    after_cr_ = bytes.front() == '\r';
    bytes.remove_prefix(1);
    end_line(out);
  }
  return {};
}

void SseReader::end_line(std::vector<SseEvent>& out) {
  std::string_view line = line_;
  if (at_start_) {
    at_start_ = false;
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  }
  if (line.empty()) {
    // An event without data is no event; its id and retry have been noted.
    if (has_data_) {
      event_.data.pop_back();
      out.push_back(std::move(event_));
    }
    event_ = {};
    has_data_ = false;
    event_bytes_ = 0;
  } else if (const std::size_t colon = line.find(':'); colon == std::string_view::npos) {
    field(line, {});
  } else if (colon > 0) {
    std::string_view value = line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    field(line.substr(0, colon), value);
  } else {
    event_bytes_ -= line_.size();  // a comment is not part of an event
  }
  line_.clear();
}

void SseReader::field(std::string_view name, std::string_view value) {
  if (name == "data") {
    event_.data += value;
    event_.data += '\n';
    has_data_ = true;
  } else if (name == "event") {
    event_.event = value;
  } else if (name == "id") {
    if (value.find('\0') != std::string_view::npos) return;
    event_.id = std::string(value);
    last_id_ = value;
  } else if (name == "retry") {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error == std::errc() && end == value.data() + value.size()) retry_ = number;
  }
}

namespace {

std::string one_line(std::string_view text) {
  std::string out(text);
  std::erase_if(out, [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
  return out;
}

// Each line of `text` (ended by CR, LF or CRLF) after `prefix`.
void append_lines(std::string& out, std::string_view prefix, std::string_view text) {
  for (;;) {
    const std::size_t end = text.find_first_of("\r\n");
    out += prefix;
    out += text.substr(0, end);
    out += '\n';
    if (end == std::string_view::npos) return;
    const bool two = text[end] == '\r' && end + 1 < text.size() && text[end + 1] == '\n';
    text.remove_prefix(end + (two ? 2 : 1));
  }
}

}  // namespace

std::string sse_event(const SseEvent& event) {
  std::string out;
  out.reserve(event.data.size() + event.event.size() + 64);
  if (!event.event.empty()) out += "event: " + one_line(event.event) + '\n';
  if (event.id) out += "id: " + one_line(*event.id) + '\n';
  append_lines(out, "data: ", event.data);
  return out += '\n';
}

std::string sse_data(std::string_view data) {
  std::string out;
  out.reserve(data.size() + 16);
  append_lines(out, "data: ", data);
  return out += '\n';
}

std::string sse_retry(std::uint64_t milliseconds) { return "retry: " + std::to_string(milliseconds) + "\n\n"; }

std::string sse_comment(std::string_view text) {
  std::string out;
  append_lines(out, ": ", text);
  return out += '\n';
}

}  // namespace sallyport::gateway
