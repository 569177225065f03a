// The secrets that this process was given: values of env, auth headers, tokens. Nothing that it writes may show them
// (design section 6): receipts, rows and log lines are swept for them as the last thing. Thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "schemas/core/secret.hpp"

namespace sallyport::gateway {

class KnownSecrets {
 public:
  explicit KnownSecrets(std::size_t most = 4096) : most_(most) {}
  // Also its parts that are secret by themselves (the token behind `Bearer `, the password in a URL, each line of a
  // key) and the forms in which JSON, log lines and URLs show them. What is shorter than 6 bytes is left alone: it
  // would be found in every text. `passing`: one of many to come, like the token of an hour; beyond `most` the oldest
  // of those go. Takes time with the number of all.
  void add(const Secret& secret, bool passing = false);
  [[nodiscard]] std::shared_ptr<const std::vector<Secret>> all() const;
  // Puts `***` in the place of each; how many there were.
  std::size_t hide(std::string& text) const;

 private:
  std::size_t most_;
  mutable std::mutex mutex_;
  std::deque<std::string> passing_;  // oldest first
  std::shared_ptr<const std::vector<Secret>> secrets_ = std::make_shared<const std::vector<Secret>>();
};

// Those of this process, for what there is once: the log, and the owner's store.
KnownSecrets& known_secrets();

}  // namespace sallyport::gateway
