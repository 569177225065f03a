#include "schemas/validate/schema.hpp"

#include <algorithm>

#include "schemas/validate/compiler.hpp"
#include "schemas/validate/evaluator.hpp"
#include "schemas/validate/explain.hpp"

namespace sallyport::schema {

Result<Schema> Schema::compile(json::Value schema, const CompileOptions& options) {
  if (options.refuse_lookalikes) {
    if (const auto mark = schema.ambiguity()) {
      constexpr std::string_view kWhat[] = {"a member stands twice",
                                            "two members differ only by case, width or normalisation",
                                            "a number that no double comes near, or with more than 1,024 characters"};
      const auto prefix = schema.pointer().size();
      const auto place = mark->pointer.substr(std::min(prefix, mark->pointer.size()));
      return fail(ErrorCode::invalid, "at " + (place.empty() ? std::string("the root") : place) + ": " +
                                          std::string(kWhat[static_cast<std::size_t>(mark->what)]));
    }
  }
  auto program = Compiler(options).run(schema);
  if (!program) return fail(std::move(program.error()));
  return Schema(std::shared_ptr<const Program>(std::move(*program)));
}

std::string nearest_place(std::string_view pointer) {
  constexpr std::size_t kLongest = 1'024;
  if (pointer.size() > kLongest) pointer = pointer.substr(0, pointer.rfind('/', kLongest));
  return std::string(pointer);
}

bool Schema::valid(json::Value instance) const { return Evaluator(*program_).quick(instance); }

Verdict Schema::validate(json::Value instance, std::span<const std::string> redact) const {
  Verdict verdict;
  Evaluator quick(*program_);
  verdict.valid = quick.quick(instance);
  verdict.steps = quick.steps();
  if (verdict.valid) return verdict;
  Explainer explainer(*program_, instance, redact);
  const auto reason = quick.stopped();
  if (reason != Evaluator::Stop::none && reason != Evaluator::Stop::lookalike) {
    verdict.limit_reached = true;
    verdict.faults.push_back(explainer.limit(quick));
    return verdict;
  }
  Evaluator slow(*program_);
  slow.collect(instance);
  verdict.steps += slow.steps();
  for (const auto* all : {&slow.lookalikes(), &slow.faults()}) {
    for (const RawFault& fault : *all) {
      if (verdict.faults.size() == Evaluator::kMaxFaults) break;
      SchemaFault explained = explainer.explain(fault);
      // Several subschemas may say the same of one place; once is enough.
      const bool said = std::ranges::any_of(verdict.faults, [&](const SchemaFault& other) {
        return other.instance == explained.instance && other.message == explained.message;
      });
      if (!said) verdict.faults.push_back(std::move(explained));
    }
  }
  // The quick pass ends at the first fault, so only the slow one may meet a bound: what it found so far stands, and
  // that it did not see all is told.
  if (slow.stopped() != Evaluator::Stop::none || verdict.faults.empty()) {
    if (verdict.faults.size() == Evaluator::kMaxFaults) verdict.faults.pop_back();
    verdict.faults.push_back(explainer.limit(slow));
  }
  return verdict;
}

Dialect Schema::dialect() const { return program_->resources.front().dialect; }

const json::Document& Schema::document() const { return *program_->documents.front(); }

namespace {

template <class T>
std::size_t held(const std::vector<T>& all) {
  return all.capacity() * sizeof(T);
}

}  // namespace

std::size_t Schema::memory() const {
  const Program& p = *program_;
  std::size_t size = sizeof(p) + held(p.resources) + held(p.subs) + held(p.instructions) + held(p.lists) +
                     held(p.numbers) + held(p.strings) + held(p.arrays) + held(p.objects) + held(p.enums) +
                     held(p.dynamics) + held(p.dynamic_targets) + held(p.decimals) + held(p.patterns) + held(p.names) +
                     held(p.pattern_properties) + held(p.dependents) + held(p.words) + held(p.values) +
                     held(p.name_tables) + held(p.folded) + p.pool_bytes;
  for (const auto& document : p.documents) size += document->memory();
  for (const auto& pattern : p.patterns) size += pattern.memory();
  for (const auto& decimal : p.decimals) size += decimal.memory();
  return size;
}

}  // namespace sallyport::schema
