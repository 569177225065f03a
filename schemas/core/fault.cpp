#include "schemas/core/fault.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/encoding.hpp"

namespace sallyport {
namespace {

std::string_view to_string(Fault::Level level) {
  switch (level) {
    case Fault::Level::error:
      return "error";
    case Fault::Level::warning:
      return "warning";
    case Fault::Level::note:
      return "note";
  }
  return "error";
}

}  // namespace

bool has_errors(const Faults& faults) {
  return std::ranges::any_of(faults, [](const Fault& fault) { return fault.level == Fault::Level::error; });
}

std::string to_text(const Fault& fault) {
  std::string place = fault.file.empty() ? "inline" : visible(fault.file);
  if (fault.position.line > 0) place += fmt::format(":{}:{}", fault.position.line, fault.position.column);
  return fmt::format("{}: {}: {}", place, to_string(fault.level), visible(fault.message));
}

void FaultList::add(Fault::Level level, json::Value where, std::string message) {
  const std::size_t before = counts_.at(static_cast<std::size_t>(level))++;
  if (before > kMost) return;
  if (before == kMost) message = "more of this kind are not listed";
  Fault fault{level, file_, {0, 0}, {}, std::move(message)};
  if (where) {
    fault.position = where.position();
    fault.pointer = where.pointer();
  }
  faults_.push_back(std::move(fault));
}

}  // namespace sallyport
