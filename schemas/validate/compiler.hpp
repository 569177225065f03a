// From schema text to Program: one Sub for each schema that can be reached, each keyword checked. For this folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/core/result.hpp"
#include "schemas/validate/program.hpp"
#include "schemas/validate/resources.hpp"

namespace sallyport::schema {

class Compiler {
 public:
  explicit Compiler(const CompileOptions& options)
      : options_(options), program_(std::make_unique<Program>()), resources_(program_->documents, options) {}

  Result<std::unique_ptr<Program>> run(json::Value schema);

 private:
  // The Sub of a schema node, made now or later.
  SubId sub_of(json::Value node);
  Status drain();
  Status compile_dynamic_targets();
  Status emit(SubId id);

  // Each checks and compiles the keywords of one sort; `sub` is moved into the program at the end of emit().
  Status references(Sub& sub, const KeywordValues& keywords);
  Status applicators(Sub& sub, const KeywordValues& keywords);
  Status types(Sub& sub, const KeywordValues& keywords);
  Status values(Sub& sub, const KeywordValues& keywords);
  Status number(Sub& sub, const KeywordValues& keywords);
  Status draft4_bounds(NumberPart& part, const KeywordValues& keywords);
  Status string(Sub& sub, const KeywordValues& keywords);
  Status array(Sub& sub, const KeywordValues& keywords);
  Status array_items(ArrayPart& part, const KeywordValues& keywords);
  Status object(Sub& sub, const KeywordValues& keywords);
  Status names(ObjectPart& part, const KeywordValues& keywords);
  Status patterns(ObjectPart& part, json::Value map);
  Status dependents(ObjectPart& part, const KeywordValues& keywords);

  Status reference(Keyword keyword, json::Value value, const Sub& sub);
  std::uint32_t dynamic_part(std::string_view text, SubId target);
  void recursive_reference(const Sub& sub, SubId target);
  void instruct(Op op, Keyword keyword, Range range) { pending_.push_back({op, keyword, range}); }
  Range list(const std::vector<SubId>& subs);
  Result<std::uint32_t> pattern(json::Value where, std::string_view text);
  Result<std::uint32_t> decimal(json::Value value, std::string_view keyword);
  Status count(json::Value value, Keyword keyword, std::uint64_t& out);
  Result<Range> word_list(json::Value value, Keyword keyword, bool sorted);
  std::uint32_t dynamic_name(std::string_view name);

  // After all Subs are there (closure.cpp).
  Status check_in_place();
  Status name_tables();
  [[nodiscard]] std::vector<SubId> in_place(const Sub& sub, bool dynamic) const;
  void append_targets(const Instruction& instruction, bool dynamic, std::vector<SubId>& out) const;
  [[nodiscard]] std::vector<bool> entries() const;
  Status name_table(SubId id, std::vector<std::uint32_t>& seen);
  void store_name_table(SubId id, std::vector<std::string_view> names);

  const CompileOptions& options_;
  std::unique_ptr<Program> program_;
  Resources resources_;
  std::vector<std::unordered_map<std::uint32_t, SubId>> subs_;  // of each document: node index to Sub
  std::vector<SubId> open_;                                     // to be emitted
  std::vector<Instruction> pending_;                            // of the Sub being emitted
  std::map<std::string, std::uint32_t, std::less<>> patterns_;  // each pattern once
  std::map<std::string, std::uint32_t, std::less<>> dynamic_names_;
  std::size_t patterns_memory_ = 0;
  std::size_t closure_work_ = 0;
};

}  // namespace sallyport::schema
