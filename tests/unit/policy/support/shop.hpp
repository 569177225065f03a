// A made-up config, trust and lock for the tests of policy/: three accepted servers, one that nobody has
// accepted.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "policy/evaluate/load.hpp"

namespace sallyport::policy::test {

class Shop {
 public:
  Shop();
  Shop(const Shop&) = delete;
  Shop& operator=(const Shop&) = delete;

  [[nodiscard]] const json::Document& parse(std::string text);  // comments allowed; kept as long as the shop
  [[nodiscard]] LoadedPolicy load(std::string text, bool idle_is_error = false);
  // Loads what must be right.
  [[nodiscard]] std::shared_ptr<const Policy> policy(std::string text);

  struct Call {
    std::string server = "files";
    std::string tool = "read_file";
    std::string arguments = "{}";
    std::string principal = "agent:ci";
    Method method = Method::tools_call;
    std::string uri;
    bool pinned = true;
  };
  // Facts as the gateway would make them; they live as long as the shop.
  [[nodiscard]] CallFacts facts(const Call& call);
  [[nodiscard]] Decision decide(const std::string& policy_text, const Call& call);
  [[nodiscard]] Verdict verdict(const std::string& policy_text, const Call& call) {
    return decide(policy_text, call).verdict;
  }

  Vocabulary vocabulary;

 private:
  void add_tool(VocabularyServer& server, std::string name, Effect effect, const std::string& schema,
                std::vector<std::string> paths = {});
  std::vector<std::unique_ptr<const json::Document>> documents_;
  std::vector<std::unique_ptr<const schema::Schema>> schemas_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<std::unique_ptr<Principal>> principals_;
  std::vector<std::unique_ptr<std::vector<std::string>>> paths_;
};

[[nodiscard]] std::vector<std::string> ids(const Decision& decision);
[[nodiscard]] std::string text_of(const Faults& faults);

}  // namespace sallyport::policy::test
