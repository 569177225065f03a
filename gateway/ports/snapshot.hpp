// Snapshot: configuration, policy, trust and tools in force, immutable. One serves one pass of a call and never
// outlives a wait (design section 13): ask Snapshots::current() again after each.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/model/effect.hpp"
#include "schemas/model/principal.hpp"
#include "schemas/validate/schema.hpp"

namespace sallyport::policy {
struct Policy;
class ArgumentConditions;
}  // namespace sallyport::policy
namespace sallyport::trust {
struct Contract;
enum class Output : std::uint8_t;
enum class Offer : std::uint8_t;
struct TrustFile;
struct LockFile;
}  // namespace sallyport::trust

namespace sallyport::gateway {

enum class ToolState : unsigned char {
  unpinned,  // nobody accepted it: callable where rules allow, never pinned
  pinned,
  drifted,      // the server's text is another now; `definition` is the accepted one; every call asks
  quarantined,  // unlisted; answers TOOL_QUARANTINED
};
// The words for people: `not accepted`, `accepted`, `changed`, `quarantined`.
[[nodiscard]] std::string_view to_string(ToolState state);

// One tool of one server, as in force; or one prompt, resource template or the instructions of it, which have a
// definition and a state like tools, and no schemas. Of those `ref.tool` is the name that it is accepted under.
// Other methods that go the way of a call have one of these too, made for the call from what they name: effect read,
// without definition where no list of the server has it, and then pinned if the server's identity was accepted.
struct Tool {
  Method method = Method::tools_call;
  trust::Offer offer{};  // default: a tool
  ToolRef ref;
  std::string exposed;  // on /mcp; on the server's own mount it is ref.tool
  ToolState state = ToolState::unpinned;
  std::string quarantine_reason;
  std::vector<std::string> findings;                 // of the text scan, fit to be shown; of an accepted tool too
  std::shared_ptr<const json::Document> definition;  // in force: accepted if there is one, else the server's
  std::shared_ptr<const json::Document> current;     // what the server says now (same object unless drifted)
  std::string digest;                                // of `definition`; empty: it cannot be judged (quarantined)
  std::string current_digest;                        // of `current`
  std::string listed;          // raw JSON for lists, of tools with effective annotations, own name
  std::string listed_exposed;  // the same under the exposed name
  std::shared_ptr<const schema::Schema> input;
  std::shared_ptr<const schema::Schema> output;  // null: none, or broken (then output_note says so)
  std::string output_note;
  std::vector<std::string> write_only;              // patterns of arguments that the schema marks so (receipts)
  trust::Output output_mode{};                      // of results that it refuses; default warn
  std::shared_ptr<const trust::Contract> contract;  // what holds of it without the accepted identity; null: none
  EffectView effect;                                // before `cases`
  struct Case {
    std::shared_ptr<const policy::ArgumentConditions> when;
    EffectView effect;
  };
  std::vector<Case> cases;  // first whose condition is true holds
};

// What a server declared beside tools when it was last spoken to.
struct Offers {
  bool known = false;
  bool prompts = false, resources = false, subscribe = false, completions = false, logging = false;
  std::string apps;  // raw: the settings of the extension MCP Apps; empty: it has not that
  friend bool operator==(const Offers&, const Offers&) = default;
};

using ToolsByName = std::map<std::string, std::shared_ptr<const Tool>, std::less<>>;

struct ServerView {
  std::string id;
  Offers offers;
  bool identity_ok = false;      // found identity matches the lock
  std::string identity;          // as found last: canonical JSON; empty: not known
  std::string identity_digest;   // sha256:…, empty: not known
  std::string problem;           // set aside: why; empty: usable
  std::string foreign;           // not empty: it is not the server that was accepted, and nothing of it is used
  std::set<trust::Offer> whole;  // lists that were fetched to their end when they were asked for last
  bool listed = false;           // tools are known (from the server or, before the first start, from the lock)
  ToolsByName tools;             // by the server's own name
  ToolsByName prompts;
  ToolsByName templates;     // by URI template
  ToolsByName instructions;  // at most one, under the empty name

  [[nodiscard]] ToolsByName& of(trust::Offer offer) { return this->*list_of(offer); }
  [[nodiscard]] const ToolsByName& of(trust::Offer offer) const { return this->*list_of(offer); }
  // The template that a URI could be made from; null: none. Of several one that changed or is quarantined, and then the
  // one with the longest literal text.
  [[nodiscard]] std::shared_ptr<const Tool> template_of(std::string_view uri) const;

 private:
  [[nodiscard]] static ToolsByName ServerView::* list_of(trust::Offer offer);
};

struct Snapshot {
  std::uint64_t version = 0;
  std::shared_ptr<const policy::Policy> policy;
  std::shared_ptr<const trust::TrustFile> trust;
  std::shared_ptr<const trust::LockFile> lock;
  std::string policy_digest, trust_digest;  // sha256:…
  std::map<std::string, ServerView, std::less<>> servers;
  std::unordered_map<std::string, std::shared_ptr<const Tool>> exposed;  // /mcp names; equal names stand in neither
  std::vector<std::string> collisions;  // names that two tools would have: neither is listed

  // The tool a client means on that mount; null: unknown.
  [[nodiscard]] const Tool* find(std::string_view mount_server, std::string_view name) const;
};

class Snapshots {
 public:
  virtual ~Snapshots() = default;
  [[nodiscard]] virtual std::shared_ptr<const Snapshot> current() const = 0;
};

}  // namespace sallyport::gateway
