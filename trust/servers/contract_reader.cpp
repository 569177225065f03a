#include "trust/servers/contract_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/servers/reader.hpp"
#include "trust/servers/scope.hpp"

namespace sallyport::trust {
namespace {

constexpr Words kEffects{"read", "file", "record", "external"};
constexpr Words kRepeats{"safe", "keyed", "never"};
constexpr std::size_t kMaxCases = 64;

class ContractReader {
 public:
  ContractReader(const std::string& file, FaultList& faults) : file_(file), faults_(faults) {}

  Contract read(const std::string& name, json::Value value, Output output_default) {
    Contract out;
    out.name = name;
    out.output = output_default;
    out.digest = tagged_digest(kContractTag, json::canonical(value));
    if (value.is_string()) {  // short for {"effect": …}
      out.terms.category = category(value);
      return out;
    }
    const ObjectReader entry(value, "a tool's entry", faults_,
                             {"effect", "destructive", "repeat", "labels", "cases", "paths", "scope", "errors",
                              "idempotencyKey", "retention", "deadline", "attempts", "lookup", "revision", "says",
                              "record", "maxResultBytes", "overLimit", "output"});
    if (!entry.usable()) return out;
    out.terms = terms(entry);
    out.cases = cases(entry.get("cases"));
    out.paths = entry.pointers("paths");
    out.scope = templated(entry, "scope", true);
    out.says = templated(entry, "says", false);
    out.errors = errors(entry.get("errors"));
    out.idempotency_key = key_place(entry.get("idempotencyKey"));
    out.retention = entry.duration("retention");
    out.deadline = entry.duration("deadline");
    const auto attempts = entry.integer("attempts", 1, 10);
    if (attempts) out.attempts = static_cast<unsigned>(*attempts);
    out.lookup = lookup(entry.get("lookup"));
    out.revision = revision(entry.get("revision"));
    read_record(entry.get("record"), out);
    const auto bytes = entry.integer("maxResultBytes", 1, std::int64_t{1} << 30U);
    if (bytes) out.max_result_bytes = static_cast<std::size_t>(*bytes);
    const auto over_limit = entry.word("overLimit", {"withhold", "truncate"});
    if (over_limit) out.over_limit = static_cast<OverLimit>(*over_limit);
    const auto output = entry.word("output", {"warn", "enforce", "off"});
    if (output) out.output = static_cast<Output>(*output);
    judge_together(value, out);
    return out;
  }

 private:
  std::optional<EffectCategory> category(json::Value value) {
    const auto word = read_word(value, kEffects, "an effect", faults_);
    if (!word) return std::nullopt;
    return static_cast<EffectCategory>(*word + 1);  // `unrated` comes first and is nothing to assign
  }

  EffectTerms terms(const ObjectReader& entry) {
    EffectTerms out;
    if (const auto effect = entry.get("effect")) out.category = category(effect);
    out.destructive = entry.flag("destructive");
    const auto repeat = entry.word("repeat", kRepeats);
    if (repeat) out.repeat = static_cast<Repeat>(*repeat);
    out.labels = entry.texts("labels");
    if (out.labels) {
      std::ranges::sort(*out.labels);
      const auto repeated = std::ranges::unique(*out.labels);
      out.labels->erase(repeated.begin(), repeated.end());
    }
    return out;
  }

  // A condition's own language is judged where it is compiled; here it only has to be unambiguous.
  std::optional<Raw> raw(json::Value value) {
    if (!value) return std::nullopt;
    if (const auto mark = value.ambiguity()) {
      faults_.error(
          value, fmt::format("the condition is ambiguous at `{}`: a name stands there twice or two names look alike, "
                             "or a number is out of range",
                             visible(mark->pointer)));
      return std::nullopt;
    }
    const auto position = value.position();
    return Raw{json::canonical(value), file_, position.line, position.column};
  }

  std::vector<Case> cases(json::Value value) {
    std::vector<Case> out;
    if (!value) return out;
    if (!value.is_array() || value.size() > kMaxCases) {
      faults_.error(value, fmt::format("`cases` is a list of at most {} objects", kMaxCases));
      return out;
    }
    for (const auto item : value.elements()) {
      const ObjectReader entry(item, "a case", faults_, {"when", "effect", "destructive", "repeat", "labels"});
      if (!entry.usable()) continue;
      auto when = raw(entry.get("when"));
      Case made{when.value_or(Raw{}), terms(entry)};
      if (!entry.get("when").is_object()) {
        faults_.error(item, "a case needs `when`: conditions on the arguments, like {\"dryRun\": true}");
      }
      if (entry.value().size() < 2)
        faults_.error(item, "a case says nothing: name an effect, destructive, repeat or labels");
      out.push_back(std::move(made));
    }
    return out;
  }

  std::string templated(const ObjectReader& entry, std::string_view name, bool segments) {
    auto text = entry.text(name);
    if (!text) return {};
    const auto parts = parse_template(*text);
    if (!parts) {
      faults_.error(entry.get(name), fmt::format("`{}`: {}", name, parts.error().message));
      return {};
    }
    if (segments && (text->starts_with("/") || text->ends_with("/") || literal_gap(*parts))) {
      faults_.error(entry.get(name), "`scope` has an empty segment; write segments like \"orders/{/customer_id}\"");
    }
    return *text;
  }

  static bool literal_gap(const std::vector<TemplatePart>& parts) {
    return std::ranges::any_of(
        parts, [](const TemplatePart& part) { return !part.pointer && part.text.find("//") != std::string::npos; });
  }

  ErrorMap errors(json::Value value) {
    ErrorMap out;
    if (!value) return out;
    if (value.is_string()) {
      const auto word = read_word(value, {"unknown", "none"}, "`errors`", faults_);
      if (word && *word == 1) out.mode = ErrorMap::Mode::none;
      return out;
    }
    const ObjectReader entry(value, "`errors`", faults_, {"none", "transient"});
    if (!entry.usable()) return out;
    out.mode = ErrorMap::Mode::listed;
    out.none = error_set(entry.get("none"));
    out.transient = error_set(entry.get("transient"));
    return out;
  }

  ErrorSet error_set(json::Value value) {
    ErrorSet out;
    if (!value) return out;
    const ObjectReader entry(value, "a set of errors", faults_, {"http", "codes", "result"});
    if (!entry.usable()) return out;
    for (const auto number : numbers(entry.get("http"), "http", 400, 599)) out.http.push_back(static_cast<int>(number));
    out.codes = numbers(entry.get("codes"), "codes", INT32_MIN, INT32_MAX);
    out.result = raw(entry.get("result"));
    return out;
  }

  std::vector<std::int64_t> numbers(json::Value value, std::string_view name, std::int64_t low, std::int64_t high) {
    std::vector<std::int64_t> out;
    if (!value) return out;
    if (!value.is_array()) {
      faults_.error(value, fmt::format("`{}` is a list of integers", name));
      return out;
    }
    for (const auto item : value.elements()) {
      const auto number = item.is_number() ? item.integer() : std::nullopt;
      if (number && *number >= low && *number <= high) {
        out.push_back(*number);
      } else {
        faults_.error(item, fmt::format("`{}` holds integers from {} to {}", name, low, high));
      }
    }
    return out;
  }

  std::optional<KeyPlace> key_place(json::Value value) {
    if (!value) return std::nullopt;
    const ObjectReader entry(value, "`idempotencyKey`", faults_, {"argument", "meta", "header"});
    if (!entry.usable()) return std::nullopt;
    if (value.size() != 1) {
      faults_.error(value, "`idempotencyKey` names one place: argument, meta or header");
      return std::nullopt;
    }
    if (const auto pointer = entry.pointer("argument")) return KeyPlace{KeyPlace::Kind::argument, *pointer};
    if (const auto meta = entry.text("meta")) {
      if (meta->starts_with("dev.sallyport/"))
        faults_.error(entry.get("meta"), "keys of `dev.sallyport/` never go to servers");
      return KeyPlace{KeyPlace::Kind::meta, *meta};
    }
    if (const auto header = entry.text("header")) {
      const bool token = std::ranges::all_of(*header, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
      });
      if (!token) faults_.error(entry.get("header"), "a header's name holds letters, digits, `-` and `_`");
      return KeyPlace{KeyPlace::Kind::header, *header};
    }
    return std::nullopt;
  }

  OwnCall own_call(const ObjectReader& entry) {
    OwnCall out;
    const auto tool = entry.text("tool");
    if (tool) out.tool = *tool;
    if (!entry.get("tool")) faults_.error(entry.value(), "`tool` is missing: a reading tool of the same server");
    const auto arguments = entry.get("arguments");
    if (!arguments) return out;
    if (!arguments.is_object()) {
      faults_.error(arguments, "`arguments` is an object");
      return out;
    }
    for (const auto member : arguments.members()) {
      if (!out.arguments.emplace(member.name(), own_argument(member.value)).second) {
        faults_.error(member.key, fmt::format("`{}` stands here twice; remove one", visible(member.name())));
      }
    }
    return out;
  }

  OwnArgument own_argument(json::Value value) {
    const auto from = value.find("from");
    if (!value.is_object() || !from || value.size() != 1) {
      if (value.ambiguity()) faults_.error(value, "the value is ambiguous");
      return {OwnArgument::From::literal, json::canonical(value)};
    }
    if (from.equals("key")) return {OwnArgument::From::key, {}};
    if (from.equals("operation")) return {OwnArgument::From::operation, {}};
    if (from.is_string() && from.string().starts_with("/") && pointer_steps(from.string())) {
      return {OwnArgument::From::argument, from.string()};
    }
    faults_.error(from, "`from` is `key`, `operation` or a JSON Pointer into the call's arguments");
    return {};
  }

  std::optional<Lookup> lookup(json::Value value) {
    if (!value) return std::nullopt;
    const ObjectReader entry(value, "`lookup`", faults_, {"tool", "arguments", "applied", "notFound"});
    if (!entry.usable()) return std::nullopt;
    Lookup out;
    out.call = own_call(entry);
    if (auto applied = raw(entry.get("applied"))) out.applied = std::move(*applied);
    if (!entry.get("applied")) {
      faults_.error(value,
                    "`applied` is missing: what the result shows when the write happened, like {\"status\": \"paid\"}");
    }
    const auto word = entry.word("notFound", {"unknown", "none"});
    if (word && *word == 1) out.not_found = Outcome::none;
    return out;
  }

  std::optional<Revision> revision(json::Value value) {
    if (!value) return std::nullopt;
    const ObjectReader entry(value, "`revision`", faults_, {"tool", "arguments", "at"});
    if (!entry.usable()) return std::nullopt;
    Revision out;
    out.call = own_call(entry);
    if (const auto at = entry.pointer("at")) out.at = *at;
    if (!entry.get("at")) faults_.error(value, "`at` is missing: the pointer to the revision in the result");
    return out;
  }

  void read_record(json::Value value, Contract& out) {
    if (!value) return;
    const ObjectReader entry(value, "`record`", faults_, {"arguments", "result"});
    if (!entry.usable()) return;
    out.record_arguments = entry.pointers("arguments");
    out.record_result = entry.pointers("result");
  }

  // Members that contradict each other, and what `check` warns of.
  void judge_together(json::Value value, const Contract& contract) {
    if (contract.terms.repeat == Repeat::keyed && !contract.idempotency_key) {
      faults_.error(value.find("repeat"), "`repeat` is `keyed` but `idempotencyKey` says no place for the key");
    }
    if (contract.terms.repeat == Repeat::safe && contract.terms.destructive == true) {
      faults_.warning(value.find("repeat"), "`repeat` is `safe` on a destructive tool: a lost call will be sent again");
    }
    if (value.find("overLimit") && !contract.max_result_bytes)
      faults_.error(value.find("overLimit"),
                    "`overLimit` says what becomes of a result over `maxResultBytes`, which is missing");
    const auto& key = contract.idempotency_key;
    const auto asks_by = [&](OwnArgument::From what) {
      return contract.lookup && std::ranges::any_of(contract.lookup->call.arguments,
                                                    [&](const auto& item) { return item.second.from == what; });
    };
    if (asks_by(OwnArgument::From::key) && !key)
      faults_.error(value.find("lookup"), "`lookup` asks by the key, but there is no `idempotencyKey`");
    if (asks_by(OwnArgument::From::operation) && (!key || key->kind == KeyPlace::Kind::argument))
      faults_.error(
          value.find("lookup"),
          "`lookup` asks by the operation's id, which the server only gets as the key: `idempotencyKey` must be "
          "{\"meta\": …} or {\"header\": …}");
    const bool writes = contract.terms.category && *contract.terms.category != EffectCategory::read;
    if (writes && contract.scope.empty()) {
      faults_.warning(value, fmt::format("`{}` writes and has no `scope`: a lost call holds up the whole server",
                                         visible(contract.name)));
    }
  }

  const std::string& file_;
  FaultList& faults_;
};

}  // namespace

Contract read_contract(const std::string& file, const std::string& name, json::Value value, Output output,
                       FaultList& faults) {
  return ContractReader(file, faults).read(name, value, output);
}

}  // namespace sallyport::trust
