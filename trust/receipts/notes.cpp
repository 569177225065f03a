#include "trust/receipts/notes.hpp"

#include <utility>

namespace sallyport::trust {
namespace {

constexpr std::size_t kMostNote = 64U << 10;
constexpr std::string_view kOrigin = "sallyport.dev/";
constexpr std::string_view kDash = "\xE2\x80\x94 ";  // opens a line with a signature

}  // namespace

void NoteReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (line_.size() < kMostNote) line_ += bytes.substr(0, end);
    if (end == std::string_view::npos) return;
    line();
    bytes.remove_prefix(end + 1);
  }
}

// A line that no newline ends was cut off, and with it what it belongs to.
void NoteReader::finish() {
  if (!line_.empty()) {
    if (is_signed_ && !line_.starts_with(kDash)) end();
    note_.clear();
    is_signed_ = false;
    line_.clear();
    ++torn_;
  }
  end();
}

void NoteReader::line() {
  const std::string line = std::exchange(line_, {});
  const bool signature = line.starts_with(kDash);
  if (is_signed_ && !signature) end();
  if (line.starts_with(kOrigin) && !note_.empty()) end();
  if (note_.empty() && line.empty()) return;  // between notes
  if (note_.size() + line.size() < kMostNote) note_ += line;
  note_ += '\n';
  is_signed_ = is_signed_ || signature;
}

void NoteReader::end() {
  if (note_.empty()) return;
  std::string note = std::exchange(note_, {});
  if (std::exchange(is_signed_, false)) {
    take_(std::move(note));
  } else {
    ++torn_;
  }
}

}  // namespace sallyport::trust
