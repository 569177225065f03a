// Reader: one pass over policy files; private to policy/rules. Each method reads one kind of thing and names its
// faults.
#pragma once

#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy/rules/parse.hpp"

namespace sallyport::policy {

// Positions of a text in ascending order without scanning it anew for each.
class Lines {
 public:
  [[nodiscard]] json::Position at(json::Value value);

 private:
  const json::Document* document_ = nullptr;
  std::size_t offset_ = 0;
  std::size_t line_start_ = 0;
  std::uint32_t line_ = 1;
};

class Reader {
 public:
  Reader(const Vocabulary& vocabulary, FaultList& faults, std::string file, bool idle_is_error);

  // Generic (reader.cpp). An absent value gives nullopt without a fault.
  void only(json::Value object, std::initializer_list<std::string_view> known, std::string_view what);
  [[nodiscard]] bool object(json::Value value, std::string_view what);
  [[nodiscard]] std::optional<std::string> text(json::Value value, std::string_view what);  // variables replaced
  [[nodiscard]] std::optional<bool> boolean(json::Value value, std::string_view what);
  [[nodiscard]] std::optional<std::uint64_t> count(json::Value value, std::string_view what, std::uint64_t least = 1);
  [[nodiscard]] std::optional<Millis> duration(json::Value value, std::string_view what);
  [[nodiscard]] std::optional<std::string> id(json::Value object, std::string_view what);
  [[nodiscard]] std::optional<std::string> pointer(json::Value value, std::string_view what);
  struct Word {
    json::Value where;
    std::string text;
  };
  [[nodiscard]] std::vector<Word> words(json::Value value, std::string_view what);  // a string or a list, at least one
  [[nodiscard]] std::string meaning(json::Value value) const;                       // canonical, variables replaced
  void unknown(json::Value where, std::string_view kind, std::string_view name, std::span<const std::string> known,
               std::string_view otherwise);
  // A name that was known before the reload: no error, or whoever was taken away would go on.
  void gone(json::Value where, std::string_view kind, std::string_view name);
  void idle(json::Value where, std::string message);

  // Rules (parse_match.cpp, check_match.cpp, parse_rule.cpp).
  [[nodiscard]] std::optional<Match> match(json::Value value, Place place, bool closed,
                                           std::span<const Method> inherited = {});
  void check(const Match& match, json::Value source);
  // Of `unless` and `allowIf`, within the match of their rule.
  void check_inner(const Match& inner, const Match& outer, json::Value source);
  [[nodiscard]] std::optional<ApprovalTerms> approval(json::Value value, const ApprovalTerms& base);
  [[nodiscard]] std::optional<Rule> rule(json::Value value, const ApprovalTerms& base);

  // The rest (parse_more.cpp).
  [[nodiscard]] std::optional<BudgetRule> budget(json::Value value);
  [[nodiscard]] std::optional<PolicyTest> test(json::Value value, std::size_t index);

  // A value that no tool takes is kept from nobody: a misspelled name, most likely.
  void check_redact(const std::string& pointer, json::Value where);

  [[nodiscard]] FaultList& faults() { return faults_; }
  [[nodiscard]] CompileContext context(Place place, bool closed) const {
    return CompileContext{faults_, place, closed, &vocabulary_.variables};
  }

 private:
  [[nodiscard]] std::optional<NameTest> names(json::Value value, std::string_view what);
  [[nodiscard]] bool read_conditions(Match& match, json::Value value, bool closed);
  void read_methods(Match& match, json::Value value, std::span<const Method> inherited);
  void read_effect(Match& match, json::Value value);
  void check_servers(const Match& match, json::Value source);
  void check_tool_names(const Match& match, json::Value source);
  void check_principals(const Match& match, json::Value source);
  void check_shape(const Match& match, json::Value source);
  // Accepted tools by their own names, so that a rule that names one costs no more among many.
  struct Offered {
    const VocabularyServer* server;
    const VocabularyTool* tool;
  };
  [[nodiscard]] std::span<const Offered> offered(std::string_view name) const;
  [[nodiscard]] std::vector<const VocabularyTool*> concerned(const Match& match, bool& all_known) const;
  void check_concerned(const Match& match, json::Value source, bool own_tools);
  void check_arguments(const Match& match, json::Value source, std::span<const VocabularyTool* const> tools, bool each);
  void check_required(const Match& match, json::Value source, std::span<const VocabularyTool* const> tools, bool each);
  void check_paths(const Match& match, json::Value source, std::span<const VocabularyTool* const> tools,
                   bool all_known);
  void check_labels(const Match& match, json::Value source, std::span<const VocabularyTool* const> tools);
  void note_unaccepted(json::Value where, const std::string& server);
  void check_kind(Rule& rule, json::Value value, json::Value own);
  void read_evidence(Rule& rule, json::Value value);
  void read_hook(Rule& rule, json::Value value);
  void read_exceptions(Rule& rule, json::Value value);
  void check_quorum(const ApprovalTerms& terms, json::Value where);
  void read_test_call(PolicyTest& test, json::Value call);
  void read_limits(BudgetRule& rule, json::Value value);
  void check_sum(const BudgetRule& rule, json::Value value);

  const Vocabulary& vocabulary_;
  FaultList& faults_;
  std::string file_;
  bool idle_is_error_;
  std::unordered_map<std::string_view, std::vector<Offered>> offered_;
  std::set<const VocabularyTool*> slips_;  // said once of each tool
  std::size_t looked_for_ = 0;             // tools that were searched for what is redacted
  std::set<std::string> noted_;            // servers without accepted definitions, said once
  Lines lines_;
};

}  // namespace sallyport::policy
