#include "policy/rules/policy.hpp"

#include <algorithm>

namespace sallyport::policy {

RuleIndex::RuleIndex(const std::vector<Rule>& rules) {
  for (std::uint32_t i = 0; i < rules.size(); ++i) {
    const Match& match = rules[i].match;
    if (match.servers.empty()) add(any_server_, match, i);
    for (const std::string& server : match.servers) add(servers_[server], match, i);
  }
}

void RuleIndex::add(Bucket& bucket, const Match& match, std::uint32_t rule) {
  if (!match.tools) {
    bucket.any_tool.push_back(rule);
    return;
  }
  for (const std::string& name : match.tools->exact) bucket.exact[name].push_back(rule);
  for (const std::string& prefix : match.tools->prefixes) {
    bucket.prefix[prefix].push_back(rule);
    if (std::ranges::find(bucket.prefix_lengths, prefix.size()) == bucket.prefix_lengths.end()) {
      bucket.prefix_lengths.push_back(prefix.size());
    }
  }
}

void RuleIndex::collect(const Bucket& bucket, std::string_view tool, std::vector<std::uint32_t>& out) {
  const auto append = [&](const std::vector<std::uint32_t>& rules) {
    out.insert(out.end(), rules.begin(), rules.end());
  };
  append(bucket.any_tool);
  if (const auto found = bucket.exact.find(std::string(tool)); found != bucket.exact.end()) append(found->second);
  for (const std::size_t length : bucket.prefix_lengths) {
    if (length > tool.size()) continue;
    if (const auto found = bucket.prefix.find(std::string(tool.substr(0, length))); found != bucket.prefix.end())
      append(found->second);
  }
}

std::vector<std::uint32_t> RuleIndex::candidates(std::string_view server, std::string_view tool) const {
  std::vector<std::uint32_t> out;
  collect(any_server_, tool, out);
  if (const auto found = servers_.find(std::string(server)); found != servers_.end()) collect(found->second, tool, out);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

const Rule* Policy::rule(std::string_view id) const {
  const auto found = std::ranges::find(rules, id, &Rule::id);
  return found == rules.end() ? nullptr : &*found;
}

const BudgetRule* Policy::budget(std::string_view id) const {
  const auto found = std::ranges::find_if(budgets, [&](const BudgetRule& rule) { return rule.budget.id == id; });
  return found == budgets.end() ? nullptr : &*found;
}

}  // namespace sallyport::policy
