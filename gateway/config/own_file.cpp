#include "gateway/config/own_file.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <tuple>

namespace sallyport::gateway {

namespace {

constexpr std::string_view kMark = "\xEF\xBB\xBF";

bool is_utf16(std::string_view text) { return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"); }

auto place(const Fault& fault) {
  return std::tie(fault.file, fault.position.line, fault.position.column, fault.level, fault.message);
}

}  // namespace

Fault file_fault(const std::string& name, std::string message) {
  Fault fault{Fault::Level::error, name, {0, 0}, {}, std::move(message)};
  constexpr std::string_view kLine = " at line ";
  constexpr std::string_view kColumn = ", column ";
  const auto at = fault.message.rfind(kLine);
  if (at == std::string::npos) return fault;
  const char* const end = fault.message.data() + fault.message.size();
  json::Position place;
  const auto line = std::from_chars(fault.message.data() + at + kLine.size(), end, place.line);
  const std::string_view rest(line.ptr, static_cast<std::size_t>(end - line.ptr));
  if (line.ec != std::errc() || !rest.starts_with(kColumn)) return fault;
  const auto column = std::from_chars(line.ptr + kColumn.size(), end, place.column);
  if (column.ec != std::errc() || column.ptr != end) return fault;
  fault.position = place;
  fault.message.resize(at);
  return fault;
}

std::optional<OwnFile> parse_own(std::string text, const std::string& name, Faults& faults) {
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  if (is_utf16(text)) {
    faults.push_back(file_fault(name, "the file is UTF-16: save it as UTF-8"));
    return std::nullopt;
  }
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) {
    faults.push_back(file_fault(name, "the file is empty: write at least {}"));
    return std::nullopt;
  }
  auto document = json::Document::parse(std::move(text), {.bytes = kMaxOwnFileBytes, .comments = true});
  if (!document) {
    faults.push_back(file_fault(name, document.error().message));
    return std::nullopt;
  }
  return OwnFile{name, std::make_shared<const json::Document>(std::move(document).value())};
}

std::optional<OwnFile> read_own(const std::string& path, const FileReader& files, Faults& faults) {
  auto text = files.read(path, kMaxOwnFileBytes);
  if (!text) {
    faults.push_back(file_fault(path, text.error().message));
    return std::nullopt;
  }
  if (!text->others_may_write.empty()) {
    faults.push_back(file_fault(path, fmt::format("the file {}", text->others_may_write)));
    return std::nullopt;
  }
  return parse_own(std::move(text->bytes), path, faults);
}

void sort_faults(Faults& faults) {
  std::sort(faults.begin(), faults.end(), [](const Fault& a, const Fault& b) { return place(a) < place(b); });
  const auto same = [](const Fault& a, const Fault& b) { return place(a) == place(b); };
  faults.erase(std::unique(faults.begin(), faults.end(), same), faults.end());
}

}  // namespace sallyport::gateway
