#include "policy/rules/reader.hpp"

#include <algorithm>
#include <cstring>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

constexpr std::size_t kMaxId = 128;

std::string quoted(std::string_view text) { return "`" + visible(text) + "`"; }

}  // namespace

json::Position Lines::at(json::Value value) {
  const json::Document* document = value.document();
  const std::size_t offset = value.offset();
  if (document != document_ || offset < offset_) *this = Lines();
  document_ = document;
  const std::string& text = document->text();
  while (const void* feed = std::memchr(text.data() + offset_, '\n', offset - offset_)) {
    offset_ = static_cast<std::size_t>(static_cast<const char*>(feed) - text.data()) + 1;
    line_start_ = offset_;
    ++line_;
  }
  offset_ = offset;
  return {line_, static_cast<std::uint32_t>(offset - line_start_) + 1};
}

Reader::Reader(const Vocabulary& vocabulary, FaultList& faults, std::string file, bool idle_is_error)
    : vocabulary_(vocabulary), faults_(faults), file_(std::move(file)), idle_is_error_(idle_is_error) {
  for (const VocabularyServer& server : vocabulary_.servers) {
    for (const VocabularyTool& tool : server.tools) offered_[tool.name].push_back({&server, &tool});
  }
}

std::span<const Reader::Offered> Reader::offered(std::string_view name) const {
  const auto found = offered_.find(name);
  return found == offered_.end() ? std::span<const Offered>() : std::span<const Offered>(found->second);
}

void Reader::unknown(json::Value where, std::string_view kind, std::string_view name,
                     std::span<const std::string> known, std::string_view otherwise) {
  if (faults_.full()) return;
  const auto near = nearest(name, known);
  std::string message = "unknown " + std::string(kind) + " " + quoted(name);
  message += near ? ": did you mean " + quoted(*near) + "?" : ": " + std::string(otherwise);
  faults_.error(where, std::move(message));
}

void Reader::gone(json::Value where, std::string_view kind, std::string_view name) {
  faults_.warning(where, "the " + std::string(kind) + " " + quoted(name) +
                             " is gone from the config: this speaks of nobody now; take it out, the next start refuses "
                             "it");
}

void Reader::idle(json::Value where, std::string message) {
  idle_is_error_ ? faults_.error(where, std::move(message)) : faults_.warning(where, std::move(message));
}

void Reader::only(json::Value object, std::initializer_list<std::string_view> known, std::string_view what) {
  for (const json::Member member : object.members()) {
    const std::string name = member.name();
    if (std::ranges::find(known, name) != known.end()) continue;
    const std::vector<std::string> names(known.begin(), known.end());
    std::string listed;
    for (const std::string& each : names) listed += (listed.empty() ? "" : ", ") + each;
    unknown(member.key, "member", name, names, std::string(what) + " has " + listed);
  }
}

bool Reader::object(json::Value value, std::string_view what) {
  if (!value) return false;
  if (!value.is_object()) faults_.error(value, std::string(what) + " must be an object: `{…}`");
  return value.is_object();
}

std::optional<std::string> Reader::text(json::Value value, std::string_view what) {
  if (!value) return std::nullopt;
  if (!value.is_string()) {
    faults_.error(value, std::string(what) + " must be a string");
    return std::nullopt;
  }
  return expand(value, context(Place::tightening, false));
}

std::optional<bool> Reader::boolean(json::Value value, std::string_view what) {
  if (!value) return std::nullopt;
  if (!value.is_bool()) {
    faults_.error(value, std::string(what) + " must be true or false");
    return std::nullopt;
  }
  return value.boolean();
}

std::optional<std::uint64_t> Reader::count(json::Value value, std::string_view what, std::uint64_t least) {
  if (!value) return std::nullopt;
  const auto number = value.is_number() ? value.integer() : std::nullopt;
  if (!number || *number < static_cast<std::int64_t>(least) || *number > 9'007'199'254'740'991) {
    faults_.error(value, std::string(what) + " must be a whole number, " + std::to_string(least) + " or more");
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(*number);
}

std::optional<Millis> Reader::duration(json::Value value, std::string_view what) {
  const auto written = text(value, what);
  if (!written) return std::nullopt;
  const auto out = parse_duration(*written);
  if (!out) faults_.error(value, std::string(what) + " must be a duration like `300ms`, `45s`, `10m`, `24h` or `7d`");
  return out;
}

std::optional<std::string> Reader::id(json::Value object, std::string_view what) {
  const json::Value value = object.find("id");
  if (!value) {
    faults_.error(object, std::string(what) + " needs an `id`, which receipts and refusals name");
    return std::nullopt;
  }
  auto out = text(value, "`id`");
  if (!out) return std::nullopt;
  const bool bad = out->empty() || out->size() > kMaxId || has_hidden(*out) ||
                   std::ranges::any_of(*out, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (!bad) return out;
  faults_.error(value, "an `id` has 1 to " + std::to_string(kMaxId) + " bytes and no hidden characters");
  return std::nullopt;
}

std::optional<std::string> Reader::pointer(json::Value value, std::string_view what) {
  auto out = text(value, what);
  if (!out) return std::nullopt;
  if (!out->empty() && pointer_steps(*out)) return out;
  faults_.error(value, std::string(what) + " must be a JSON Pointer like `/amount`");
  return std::nullopt;
}

std::vector<Reader::Word> Reader::words(json::Value value, std::string_view what) {
  std::vector<Word> out;
  if (!value) return out;
  const auto add = [&](json::Value item) {
    if (auto word = text(item, what)) {
      if (word->empty()) {
        faults_.error(item, std::string(what) + " must not be empty");
      } else {
        out.push_back({item, std::move(*word)});
      }
    }
  };
  if (value.is_array()) {
    if (value.size() == 0)
      faults_.error(value,
                    std::string(what) + " is an empty list, which matches nothing: name one, or leave it out for any");
    for (const json::Value item : value.elements()) add(item);
  } else {
    add(value);
  }
  return out;
}

std::string Reader::meaning(json::Value value) const {
  const std::string source = json::canonical(value);
  std::string out;
  std::size_t done = 0;
  for (std::size_t open = source.find("${"); open != std::string::npos; open = source.find("${", done)) {
    const std::size_t close = source.find('}', open);
    if (close == std::string::npos) break;
    out.append(source, done, open - done);
    const auto found = vocabulary_.variables.find(std::string_view(source).substr(open + 2, close - open - 2));
    if (found == vocabulary_.variables.end()) {
      out.append(source, open, close + 1 - open);
    } else {
      const std::string literal = quote(found->second);
      out.append(literal, 1, literal.size() - 2);
    }
    done = close + 1;
  }
  out.append(source, done);
  return out;
}

}  // namespace sallyport::policy
