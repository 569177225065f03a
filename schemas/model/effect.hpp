// Effect, outcome and verdict: the words of design section 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

// Ordered: read < file < record < external. `unrated` is no step of that order: for deny, ask and require it counts as
// every category, for allow as none.
enum class EffectCategory : std::uint8_t { unrated, read, file, record, external };
enum class Repeat : std::uint8_t { safe, keyed, never };
enum class Outcome : std::uint8_t { none, applied, unknown };
enum class Verdict : std::uint8_t { allow, ask, deny };
enum class Method : std::uint8_t { tools_call, resources_read, prompts_get, completion_complete };

// What holds (effective). Labels: `money`, `credentials`, `code`, `private` and own words; sorted, unique.
struct Effect {
  EffectCategory category = EffectCategory::unrated;
  bool destructive = true;
  Repeat repeat = Repeat::never;
  std::vector<std::string> labels;

  [[nodiscard]] bool is_read() const { return category == EffectCategory::read && !destructive; }
  [[nodiscard]] bool has_label(std::string_view label) const;
  friend bool operator==(const Effect&, const Effect&) = default;
};

// The hints of a definition's `annotations`, as the server sent them.
struct Hints {
  std::optional<bool> read_only, destructive, idempotent, open_world;
  friend bool operator==(const Hints&, const Hints&) = default;
};

// Declared (hints), assigned (contract) and effective, and where the effective category came from.
enum class EffectSource : std::uint8_t { none, hints, contract };
struct EffectView {
  Hints declared;
  std::optional<EffectCategory> assigned;
  Effect effective;
  EffectSource source = EffectSource::none;
};

[[nodiscard]] std::string_view to_string(EffectCategory value);
[[nodiscard]] std::string_view to_string(Repeat value);
[[nodiscard]] std::string_view to_string(Outcome value);
[[nodiscard]] std::string_view to_string(Verdict value);
[[nodiscard]] std::string_view to_string(Method value);  // the MCP method name: `tools/call`
[[nodiscard]] std::string_view to_string(EffectSource value);
[[nodiscard]] std::optional<EffectCategory> parse_effect_category(std::string_view text);
[[nodiscard]] std::optional<Repeat> parse_repeat(std::string_view text);
[[nodiscard]] std::optional<Method> parse_method(std::string_view text);

// The stricter of two verdicts: deny > ask > allow.
[[nodiscard]] inline Verdict stricter(Verdict a, Verdict b) { return a < b ? b : a; }

}  // namespace sallyport
