// The judging phases of a call (design section 3, steps 3 to 8): pure but for what they look up in Context. Each stands
// in a file of its own and adds to `judged`; a refusal does not stop the later ones, so that the receipt lists every
// reason that could be found.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "gateway/calls/call.hpp"

namespace sallyport::gateway::calls {

// What is in force besides the snapshot: open unknowns and stops, kept by Calls, in memory.
class Context {
 public:
  virtual ~Context() = default;
  [[nodiscard]] virtual std::span<const OperationRow> unknowns() const = 0;  // every unknown write
  [[nodiscard]] virtual std::span<const StopRow> stops() const = 0;          // in force
  [[nodiscard]] virtual std::string fingerprint(std::string_view bytes) const = 0;
  // After an accepted rollback of the log: until then a key that is not known may have been used in the lost part.
  [[nodiscard]] virtual UnixMillis keys_doubtful_until() const { return 0; }
};

void find_tool(Call& call, const Context& context);
void check_stops(Call& call, const Context& context);
void check_definition(Call& call, const Context& context);
void check_arguments(Call& call, const Context& context);
void apply_contract(Call& call, const Context& context);
void weigh_rules(Call& call, const Context& context);
void find_budgets(Call& call, const Context& context);
void conclude_rules(Call& call, const Context& context);
void check_pending(Call& call, const Context& context);

struct Phase {
  std::string_view name;
  void (*run)(Call&, const Context&);
};

// In order. `conclude` and `pending` come after evidence and hooks were fetched, which only Calls can do.
inline constexpr std::array<Phase, 7> kWeighing{{
    {"tool", find_tool},               // first: nothing else can be asked before it is known what is called
    {"stops", check_stops},            // an operator's stop outranks everything that could still be found
    {"definition", check_definition},  // before the arguments: a quarantined tool's schema judges nothing
    {"arguments", check_arguments},    // before contract and rules: they read values, and only judged ones
    {"contract", apply_contract},      // before the rules: they see the effect that it gives to these arguments
    {"rules", weigh_rules},
    {"budgets", find_budgets},  // after the contract: a budget may look at the effect
}};
inline constexpr std::array<Phase, 2> kConcluding{{
    {"verdict", conclude_rules},  // after evidence and hooks: deny, unmet require, ask, allow, default
    {"pending", check_pending},   // last: an unknown write turns an allow into a block or an ask, never the other way
}};

// The two halves: before and after evidence and hooks are fetched (an unanswered one counts as not found and as
// failed).
void weigh(Call& call, std::shared_ptr<const Snapshot> snapshot, const Context& context);
void conclude(Call& call, std::span<const policy::EvidenceFound> evidence, std::span<const policy::HookAnswer> hooks,
              const Context& context);

// What rules look at.
[[nodiscard]] CallFacts facts_of(const Call& call);

// What would be decided of a made-up call; runs nothing, records nothing. `params`: call_params().
[[nodiscard]] Call rehearse(std::shared_ptr<const ClientContext> client, std::shared_ptr<const json::Document> params,
                            std::shared_ptr<const Snapshot> snapshot, const Context& context);
// Params of a tools/call made of its pieces; `arguments_raw` empty: {}.
[[nodiscard]] Result<std::shared_ptr<const json::Document>> call_params(const std::string& tool,
                                                                        const std::string& arguments_raw);

// Where nothing is unknown and nothing stopped: without a running owner.
class QuietContext final : public Context {
 public:
  [[nodiscard]] std::span<const OperationRow> unknowns() const override { return {}; }
  [[nodiscard]] std::span<const StopRow> stops() const override { return {}; }
  [[nodiscard]] std::string fingerprint(std::string_view) const override { return {}; }
};

// For phases: adds a refusal with one reason.
void refuse(Judgement& judged, ReasonCode code, std::string sentence, std::string rule = {});
void refuse(Judgement& judged, const NoRoom& no_room);

}  // namespace sallyport::gateway::calls
