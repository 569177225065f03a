#include "trust/servers/contract.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/writer.hpp"

namespace sallyport::trust {
namespace {

bool names(const ErrorSet& set, std::optional<int> http, std::optional<std::int64_t> code) {
  return (http && std::ranges::find(set.http, *http) != set.http.end()) ||
         (code && std::ranges::find(set.codes, *code) != set.codes.end());
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::ranges::sort(a);
  const auto repeated = std::ranges::unique(a);
  a.erase(repeated.begin(), repeated.end());
  return a;
}

}  // namespace

ErrorMeaning meaning(const ErrorMap& errors, std::optional<int> http, std::optional<std::int64_t> code) {
  switch (errors.mode) {
    case ErrorMap::Mode::unknown:
      return ErrorMeaning::unknown;
    case ErrorMap::Mode::none:
      return ErrorMeaning::none;
    case ErrorMap::Mode::listed:
      if (names(errors.transient, http, code)) return ErrorMeaning::transient;
      if (names(errors.none, http, code)) return ErrorMeaning::none;
      return ErrorMeaning::unknown;
  }
  return ErrorMeaning::unknown;
}

Contract tightening_part(const Contract& contract) {
  Contract out;
  out.name = contract.name;
  out.digest = contract.digest;
  out.terms.labels = contract.terms.labels;
  for (const auto& item : contract.cases) {
    if (!item.terms.labels) continue;
    // A case replaces labels; here it may only add some.
    Case kept{item.when, {}};
    kept.terms.labels = joined(*item.terms.labels, contract.terms.labels.value_or(std::vector<std::string>{}));
    out.cases.push_back(std::move(kept));
  }
  out.paths = contract.paths;
  out.deadline = contract.deadline;
  out.says = contract.says;
  out.record_arguments = contract.record_arguments;
  out.record_result = contract.record_result;
  out.max_result_bytes = contract.max_result_bytes;
  out.over_limit = contract.over_limit;
  out.output = contract.output == Output::enforce ? Output::enforce : Output::warn;
  return out;
}

Result<std::string> own_arguments(const OwnCall& call, json::Value arguments, std::string_view key,
                                  std::string_view operation) {
  json::Writer out;
  out.begin_object();
  for (const auto& [name, argument] : call.arguments) {
    out.key(name);
    switch (argument.from) {
      case OwnArgument::From::literal:
        out.raw(argument.text);
        break;
      case OwnArgument::From::key:
        if (key.empty())
          return fail(ErrorCode::invalid, fmt::format("`{}` wants the key of a call that has none", name));
        out.value(key);
        break;
      case OwnArgument::From::operation:
        if (operation.empty())
          return fail(ErrorCode::invalid,
                      fmt::format("`{}` wants the operation's id, which the server was not given", name));
        out.value(operation);
        break;
      case OwnArgument::From::argument: {
        const auto value = arguments.at(argument.text);
        if (!value) {
          return fail(ErrorCode::invalid, fmt::format("`{}` wants the argument `{}`, which the call does not have",
                                                      name, visible(argument.text)));
        }
        out.raw(value.raw());
        break;
      }
    }
  }
  return out.end_object().take();
}

}  // namespace sallyport::trust
