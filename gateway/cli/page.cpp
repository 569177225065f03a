#include "gateway/cli/page.hpp"

#include <algorithm>
#include <boost/json.hpp>

#include "gateway/cli/render.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::cli {
namespace bj = boost::json;

namespace {

const bj::object kNoObject;
const bj::array kNoArray;

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t length = code_points(text);
  return length >= width ? text : text + std::string(width - length, ' ');
}

}  // namespace

std::string shown(const bj::value& value) {
  if (value.is_null()) return {};
  if (const auto* string = value.if_string()) return visible(std::string_view(string->data(), string->size()));
  return visible(bj::serialize(value));
}

std::string text(const bj::object& object, std::string_view name) {
  const auto* value = object.if_contains(bj::string_view(name.data(), name.size()));
  return value == nullptr ? std::string() : shown(*value);
}

bool flag(const bj::object& object, std::string_view name) {
  const auto* value = object.if_contains(bj::string_view(name.data(), name.size()));
  return value != nullptr && value->is_bool() && value->get_bool();
}

const bj::object& child(const bj::object& object, std::string_view name) {
  const auto* value = object.if_contains(bj::string_view(name.data(), name.size()));
  return value != nullptr && value->is_object() ? value->get_object() : kNoObject;
}

const bj::array& list(const bj::object& object, std::string_view name) {
  const auto* value = object.if_contains(bj::string_view(name.data(), name.size()));
  return value != nullptr && value->is_array() ? value->get_array() : kNoArray;
}

std::string joined(const bj::array& texts, std::string_view between) {
  std::string out;
  for (const bj::value& one : texts) {
    if (!out.empty()) out += between;
    out += shown(one);
  }
  return out;
}

std::optional<bj::object> parse_object(std::string_view json) {
  boost::system::error_code ec;
  bj::parse_options options;
  options.max_depth = 256;
  bj::value value = bj::parse(bj::string_view(json.data(), json.size()), ec, {}, options);
  if (ec || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

std::string declared_text(const bj::object& effect) {
  std::string out;
  for (const auto& member : child(effect, "declared")) {
    if (!out.empty()) out += ", ";
    if (member.value().is_bool() && !member.value().get_bool()) out += "not ";
    std::string name(member.key());
    if (name.ends_with("Hint")) name.resize(name.size() - 4);
    out += visible(name);
    if (!member.value().is_bool()) out += "=" + shown(member.value());
  }
  return out;
}

std::string effect_text(const bj::object& effect) {
  const bj::object& holds = child(effect, "effective");
  if (holds.empty()) return {};
  std::string out = text(holds, "category");
  out += flag(holds, "destructive") ? ", destructive" : ", not destructive";
  out += ", repeat " + text(holds, "repeat");
  if (const std::string labels = joined(list(holds, "labels")); !labels.empty()) out += ", labels " + labels;
  return out;
}

void Page::line(std::string text) { entries_.push_back({{}, std::move(text), false}); }

void Page::heading(std::string text) { line(std::move(text)); }

void Page::row(std::string label, std::string value) {
  if (!value.empty()) entries_.push_back({std::move(label), std::move(value), true});
}

void Page::rows(std::string label, const std::vector<std::string>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    entries_.push_back({i == 0 ? label : std::string(), values[i], true});
  }
}

void Page::block(const bj::array& lines) {
  for (const bj::value& one : lines) line("    " + shown(one));
}

void Page::others(const bj::object& object, std::initializer_list<std::string_view> shown_already) {
  for (const auto& member : object) {
    const std::string_view name(member.key().data(), member.key().size());
    if (std::ranges::find(shown_already, name) == shown_already.end()) row(visible(name), shown(member.value()));
  }
}

std::string Page::take() {
  std::size_t width = 0;
  for (const Entry& entry : entries_) {
    if (entry.row) width = std::max(width, code_points(entry.label));
  }
  std::string out;
  for (const Entry& entry : entries_) {
    out += entry.row ? "  " + padded(entry.label, width) + "  " + entry.value : entry.value;
    out += '\n';
  }
  entries_.clear();
  return out;
}

std::string render_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  const auto measure = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], code_points(row[i]));
  };
  measure(head);
  for (const auto& row : rows) measure(row);
  std::string out;
  const auto print = [&](const std::vector<std::string>& row) {
    std::string printed;
    for (std::size_t i = 0; i < row.size(); ++i) {
      printed += i + 1 == row.size() ? row[i] : padded(row[i], widths[i]) + "  ";
    }
    while (printed.ends_with(' ')) printed.pop_back();
    out += printed + "\n";
  };
  print(head);
  for (const auto& row : rows) print(row);
  return out;
}

}  // namespace sallyport::gateway::cli
