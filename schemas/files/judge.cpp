#include "schemas/files/judge.hpp"

#include <fmt/core.h>
#include <algorithm>
#include <charconv>
#include <map>
#include <stdexcept>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "schemas/core/encoding.hpp"
#include "schemas/files/document_adapter.hpp"
#include "schemas/files/embedded.hpp"
#include "schemas/files/outline.hpp"

namespace sallyport::schema {

std::string_view schema_name(FileKind kind) {
  switch (kind) {
    case FileKind::settings:
      return "sallyport.schema.json";
    case FileKind::trust:
      return "trust.schema.json";
    case FileKind::policy:
      return "policy.schema.json";
    case FileKind::lock:
      return "trust.lock.schema.json";
    case FileKind::receipt:
      return "receipt.schema.json";
  }
  return {};
}

struct Judge::Compiled {
  std::unique_ptr<const json::Document> document;
  valijson::Schema schema;
};

namespace {

constexpr std::size_t kMostFaults = 1000;  // of one document; a person mends the first ones first

// Where an error of valijson is: the value, and the schema node that speaks of it.
struct Place {
  json::Value value;
  json::Value node;
};

// valijson's context is `<root>`, then `[member]` or `[index]`.
Place locate(const std::vector<std::string>& context, const json::Document& document, const Outline& outline) {
  Place place{document.root(), outline.root()};
  for (std::size_t i = 1; i < context.size(); ++i) {
    std::string_view step = context[i];
    if (step.size() >= 2) step = step.substr(1, step.size() - 2);
    const bool element = place.value.is_array();
    json::Value next;
    if (element) {
      std::size_t wanted = 0, index = 0;
      std::from_chars(step.data(), step.data() + step.size(), wanted);
      for (const json::Value one : place.value.elements()) {
        if (index++ != wanted) continue;
        next = one;
        break;
      }
    } else {
      next = place.value.find(step);
    }
    if (!next) break;
    place = {next, outline.step(place.node, step, element)};
  }
  return place;
}

// Errors that only repeat what was said of a place below.
bool is_echo(std::string_view text) {
  return text.starts_with("Failed to validate item") || text.starts_with("Failed to validate against");
}

std::string between(std::string_view text, std::string_view left, std::string_view right) {
  const auto begin = text.find(left);
  if (begin == std::string_view::npos) return {};
  const auto end = text.find(right, begin + left.size());
  return std::string(text.substr(begin + left.size(), end == std::string_view::npos ? end : end - begin - left.size()));
}

std::string wrong_choice(const Place& place) {
  const std::vector<std::string> choices = Outline::choices(place.node);
  if (place.value.is_string()) {
    const std::string text = place.value.string();
    if (const auto near = nearest(text, choices)) {
      return fmt::format("`{}` is not known here: did you mean `{}`?", visible(text), *near);
    }
    return fmt::format("`{}` is not known here: write {}", visible(text), listed(choices));
  }
  return fmt::format("must be {}", listed(choices));
}

std::string bound(const Place& place, std::string_view name, std::string_view words) {
  const json::Value limit = place.node ? place.node.find(name) : json::Value();
  return fmt::format("{} {}", words, limit ? std::string(limit.raw()) : std::string("that"));
}

void unknown_members(const Place& place, FaultList& faults) {
  for (const json::Member member : place.value.members()) {
    const std::string name = member.name();
    if (Outline::allows(place.node, name)) continue;
    faults.error(member.key, fmt::format("unknown member `{}`: {}", visible(name), Outline::remedy(place.node, name)));
  }
}

void add_fault(const Place& place, const std::string& text, FaultList& faults) {
  const std::string_view view = text;
  if (view.starts_with("Object contains a property")) return unknown_members(place, faults);
  if (view.starts_with("Value type not permitted")) {
    return faults.error(place.value,
                        fmt::format("must be {}, not {}", Outline::types(place.node), type_name(place.value.kind())));
  }
  if (view.starts_with("Missing required property")) {
    return faults.error(place.value, fmt::format("the member `{}` is missing: add it", between(view, "'", "'")));
  }
  if (view.starts_with("Failed to match")) return faults.error(place.value, wrong_choice(place));
  const auto error = [&](std::string_view name, std::string_view words) {
    faults.error(place.value, bound(place, name, words));
  };
  if (view.starts_with("Expected number greater")) return error("minimum", "must not be less than");
  if (view.starts_with("Expected number less")) return error("maximum", "must not be more than");
  if (view.starts_with("Array should contain no fewer"))
    return error("minItems", "the number of elements must not be less than");
  if (view.starts_with("Array should contain no more"))
    return error("maxItems", "the number of elements must not be more than");
  if (view.starts_with("String should be no fewer"))
    return error("minLength", "the number of characters must not be less than");
  if (view.starts_with("String should be no more"))
    return error("maxLength", "the number of characters must not be more than");
  faults.error(place.value, text);
}

// Names that stand twice in one object, and numbers that no two readers read alike.
void add_ambiguities(json::Value root, FaultList& faults) {
  std::vector<json::Value> open{root};
  while (!open.empty()) {
    const json::Value value = open.back();
    open.pop_back();
    if (value.is_object()) {
      std::map<std::string, json::Position> seen;
      for (const json::Member member : value.members()) {
        const auto [first, fresh] = seen.try_emplace(member.name(), member.key.position());
        if (!fresh) {
          faults.error(member.key, fmt::format("the member `{}` stands twice, first in line {}: leave one out",
                                               visible(member.name()), first->second.line));
        }
        open.push_back(member.value);
      }
    } else if (value.is_array()) {
      for (const json::Value one : value.elements()) open.push_back(one);
    } else if (value.is_number()) {
      if (value.ambiguity()) faults.error(value, "the number is too large, too small or too long to be read exactly");
    }
  }
}

bool before(const Fault& a, const Fault& b) {
  return std::tie(a.position.line, a.position.column, a.message) <
         std::tie(b.position.line, b.position.column, b.message);
}
bool equal(const Fault& a, const Fault& b) {
  return a.position.line == b.position.line && a.position.column == b.position.column && a.message == b.message;
}

}  // namespace

Judge::Judge(FileKind kind) : compiled_(std::make_unique<Compiled>()) {
  auto document = json::Document::parse(std::string(embedded_file(schema_name(kind))));
  if (!document) throw std::logic_error(fmt::format("{}: {}", schema_name(kind), document.error().message));
  compiled_->document = std::make_unique<const json::Document>(std::move(document).value());
  valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
  parser.populateSchema(DocumentAdapter(compiled_->document->root()), compiled_->schema);
}

Judge::~Judge() = default;
Judge::Judge(Judge&&) noexcept = default;
Judge& Judge::operator=(Judge&&) noexcept = default;

Faults Judge::judge(const json::Document& document, const std::string& file) const {
  FaultList faults(file);
  add_ambiguities(document.root(), faults);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (!validator.validate(compiled_->schema, DocumentAdapter(document.root()), &results)) {
    const Outline outline(compiled_->document->root());
    for (const auto& error : results) {
      if (faults.all().size() >= kMostFaults) break;
      if (!is_echo(error.description)) add_fault(locate(error.context, document, outline), error.description, faults);
    }
    // Never lose a refusal to the wording of valijson.
    if (faults.all().empty() && results.begin() != results.end()) {
      faults.error(document.root(), results.begin()->description);
    }
  }
  Faults all = faults.take();
  std::sort(all.begin(), all.end(), before);
  all.erase(std::unique(all.begin(), all.end(), equal), all.end());
  return all;
}

Faults judge(FileKind kind, const json::Document& document, const std::string& file) {
  return Judge(kind).judge(document, file);
}

}  // namespace sallyport::schema
