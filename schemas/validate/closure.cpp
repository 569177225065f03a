// What applies to one and the same place: refuses endless references, and gathers the names that may be declared there.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "schemas/core/encoding.hpp"
#include "schemas/validate/compiler.hpp"

namespace sallyport::schema {
namespace {

constexpr std::size_t kMaxClosureWork = 2'000'000;  // subschemas and names visited for all tables together

}  // namespace

void Compiler::append_targets(const Instruction& instruction, bool dynamic, std::vector<SubId>& out) const {
  switch (instruction.op) {
    case Op::ref:
    case Op::not_:
      out.push_back(instruction.range.begin);
      return;
    case Op::dynamic_ref: {
      const DynamicPart& part = program_->dynamics[instruction.range.begin];
      out.push_back(part.target);
      if (!dynamic) return;
      for (const DynamicTarget& target : program_->targets_of(part.name)) out.push_back(target.sub);
      return;
    }
    case Op::all_of:
    case Op::any_of:
    case Op::one_of:
    case Op::if_:
      for (const SubId sub : Program::slice(program_->lists, instruction.range)) {
        if (sub != kNone) out.push_back(sub);
      }
      return;
    case Op::enum_:
    case Op::const_:
      return;
  }
}

std::vector<SubId> Compiler::in_place(const Sub& sub, bool dynamic) const {
  std::vector<SubId> out;
  for (const Instruction& instruction : Program::slice(program_->instructions, sub.instructions)) {
    append_targets(instruction, dynamic, out);
  }
  if (sub.object != kNone) {
    for (const Dependent& dependent : Program::slice(program_->dependents, program_->objects[sub.object].dependents)) {
      if (dependent.sub != kNone) out.push_back(dependent.sub);
    }
  }
  return out;
}

// A schema that comes back to itself without going into the instance would never end. Depth first, without recursion.
Status Compiler::check_in_place() {
  enum class State : std::uint8_t { fresh, open, done };
  struct Frame {
    SubId id;
    std::vector<SubId> targets;
    std::size_t next = 0;
  };
  std::vector<State> states(program_->subs.size(), State::fresh);
  std::vector<std::uint32_t> heights(program_->subs.size(), 0);
  std::vector<Frame> stack;
  for (SubId start = 0; start < program_->subs.size(); ++start) {
    if (states[start] != State::fresh) continue;
    states[start] = State::open;
    stack.push_back({start, in_place(program_->subs[start], false)});
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.targets.size()) {
        const SubId target = top.targets[top.next++];
        if (states[target] == State::open) {
          return fail_at(ErrorCode::invalid, program_->subs[target].node,
                         "the schema refers back to itself for the same value, which would never end");
        }
        if (states[target] == State::fresh) {
          states[target] = State::open;
          stack.push_back({target, in_place(program_->subs[target], false)});
        }
        continue;
      }
      std::uint32_t height = 0;
      for (const SubId target : top.targets) height = std::max(height, heights[target] + 1);
      if (height > kMaxInPlace) {
        return fail_at(ErrorCode::limit, program_->subs[top.id].node,
                       fmt::format("more than {} references or combinations one inside the other", kMaxInPlace));
      }
      heights[top.id] = height;
      states[top.id] = State::done;
      stack.pop_back();
    }
  }
  return {};
}

// The subschemas at which the judgement of a new place in the instance begins.
std::vector<bool> Compiler::entries() const {
  std::vector<bool> entries(program_->subs.size(), false);
  const auto mark = [&](SubId id) {
    if (id != kNone) entries[id] = true;
  };
  mark(program_->root);
  for (const Name& name : program_->names) mark(name.sub);
  for (const PatternProperty& pattern : program_->pattern_properties) mark(pattern.sub);
  for (const ObjectPart& object : program_->objects) mark(object.additional);
  for (const ArrayPart& array : program_->arrays) {
    mark(array.items);
    mark(array.contains);
    for (const SubId sub : Program::slice(program_->lists, array.prefix)) mark(sub);
  }
  for (const Sub& sub : program_->subs) {
    mark(sub.unevaluated_items);
    mark(sub.unevaluated_properties);
  }
  return entries;
}

Status Compiler::name_tables() {
  const auto starts = entries();
  std::vector<std::uint32_t> seen(program_->subs.size(), kNone);
  for (SubId id = 0; id < program_->subs.size(); ++id) {
    if (!starts[id]) continue;
    if (auto done = name_table(id, seen); !done) return done;
  }
  return {};
}

Status Compiler::name_table(SubId id, std::vector<std::uint32_t>& seen) {
  std::vector<SubId> open{id};
  std::vector<std::string_view> names;
  seen[id] = id;
  while (!open.empty()) {
    const Sub& sub = program_->subs[open.back()];
    open.pop_back();
    ++closure_work_;
    if (sub.object != kNone) {
      for (const Name& name : Program::slice(program_->names, program_->objects[sub.object].names))
        names.push_back(name.text);
      closure_work_ += program_->objects[sub.object].names.count;
    }
    for (const SubId target : in_place(sub, true)) {
      if (std::exchange(seen[target], id) != id) open.push_back(target);
    }
    if (closure_work_ > kMaxClosureWork) {
      return fail_at(ErrorCode::limit, program_->subs[id].node, "too many subschemas apply to the same places");
    }
  }
  if (!names.empty()) store_name_table(id, std::move(names));
  return {};
}

void Compiler::store_name_table(SubId id, std::vector<std::string_view> names) {
  std::ranges::sort(names, ByLength());
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  NameTable table;
  table.names = {static_cast<std::uint32_t>(program_->words.size()), static_cast<std::uint32_t>(names.size())};
  table.folded = {static_cast<std::uint32_t>(program_->folded.size()), static_cast<std::uint32_t>(names.size())};
  program_->words.insert(program_->words.end(), names.begin(), names.end());
  for (const std::string_view name : names) {
    auto folded = fold(name);
    const bool same = !folded || *folded == name;
    program_->folded.push_back({same ? name : program_->keep(std::move(*folded)), name});
  }
  std::sort(program_->folded.begin() + table.folded.begin, program_->folded.end(),
            [](const FoldedName& a, const FoldedName& b) { return ByLength()(a.folded, b.folded); });
  program_->subs[id].name_table = static_cast<std::uint32_t>(program_->name_tables.size());
  program_->name_tables.push_back(table);
}

}  // namespace sallyport::schema
