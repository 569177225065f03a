// check: all that can be said of settings, trust, policy and lock without starting anything: what `serve` loads at its
// start, what `check --offline` prints, what a reload judges before it puts anything in force. Every fault of every
// file at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/config/load.hpp"
#include "gateway/config/sources.hpp"
#include "policy/evaluate/load.hpp"
#include "policy/rules/vocabulary.hpp"
#include "trust/definitions/lock_file.hpp"
#include "trust/servers/trust_file.hpp"

namespace sallyport::gateway {

struct CheckOptions {
  bool strict = false;             // `check`: a rule that can never matter is an error; at a load it is a warning
  const Former* former = nullptr;  // at a reload
};

// What the three files say together. Immutable; the parts are shared with whoever puts them in force.
struct RuleBook {
  std::shared_ptr<const trust::TrustFile> trust;           // never null; without trust files it believes nothing
  std::shared_ptr<const trust::LockFile> lock;             // never null; empty without a lock file
  std::shared_ptr<const policy::Policy> policy;            // never null; without policy files everything asks
  std::string trust_digest, policy_digest;                 // `sha256:…`, of what the files mean
  std::string lock_digest;                                 // of the lock's bytes; empty: there is none
  std::vector<std::pair<std::string, std::string>> files;  // every file read, and the digest of its bytes
};

struct Checked {
  std::optional<RuleBook> book;  // set if nothing but the policy's own tests is at fault
  bool tests_ok = true;          // of the policy; a start refuses where false, a reload that only tightens does not
  Faults faults;                 // by file and place

  [[nodiscard]] bool ok() const { return book && tests_ok; }
};

// Pure. `settings` may come from a config with errors (LoadedSettings::readable), to find what else is wrong.
[[nodiscard]] Checked check_rules(const Settings& settings, const Sources& sources, const CheckOptions& options = {});

// The same from the files: settings, sources, rules; the faults of all together.
struct LoadedConfig {
  std::optional<Settings> settings;
  std::optional<RuleBook> book;
  bool tests_ok = true;
  Faults faults;

  [[nodiscard]] bool ok() const { return settings && book && tests_ok; }
};
[[nodiscard]] LoadedConfig load_config(const SettingsRequest& request, const Environment& environment,
                                       const FileReader& files, const CheckOptions& options = {});

// The words that a policy may use. Views into `trust` and `lock`, which outlive it; also for `explain` and `policy
// test`.
class VocabularyOwner {
 public:
  VocabularyOwner(const Settings& settings, const trust::TrustFile& trust, const trust::LockFile& lock,
                  const Former* former = nullptr);
  ~VocabularyOwner();
  VocabularyOwner(const VocabularyOwner&) = delete;
  VocabularyOwner& operator=(const VocabularyOwner&) = delete;

  [[nodiscard]] const policy::Vocabulary& vocabulary() const { return vocabulary_; }
  // Accepted tools whose schema or cases cannot be used, and conditions of the trust file that do not compile.
  [[nodiscard]] const Faults& faults() const { return faults_; }

 private:
  void add_server(const std::string& id, const trust::ServerTrust* entry, const trust::LockServer& locked);
  void add_tool(policy::VocabularyServer& server, const trust::ServerTrust* entry, const std::string& name,
                const trust::Accepted& accepted);

  policy::Vocabulary vocabulary_;
  std::vector<std::unique_ptr<const schema::Schema>> schemas_;
  Faults faults_;
};

}  // namespace sallyport::gateway
