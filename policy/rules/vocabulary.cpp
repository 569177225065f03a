#include "policy/rules/vocabulary.hpp"

#include <algorithm>

namespace sallyport::policy {

const VocabularyTool* VocabularyServer::tool(std::string_view name) const {
  const auto found = std::ranges::find(tools, name, &VocabularyTool::name);
  return found == tools.end() ? nullptr : &*found;
}

const VocabularyServer* Vocabulary::server(std::string_view id) const {
  const auto found = std::ranges::find(servers, id, &VocabularyServer::id);
  return found == servers.end() ? nullptr : &*found;
}

bool Vocabulary::knows_group(std::string_view group) const {
  return std::ranges::find(groups, group) != groups.end() ||
         std::ranges::any_of(principals, [&](const Principal& principal) { return principal.in_group(group); });
}

bool Vocabulary::knew_group(std::string_view group) const {
  return std::ranges::any_of(former_principals, [&](const Principal& principal) { return principal.in_group(group); });
}

bool Vocabulary::knew_principal(std::string_view id) const {
  return std::ranges::find(former_principals, id, &Principal::id) != former_principals.end() ||
         std::ranges::find(former_people, id, &Person::id) != former_people.end();
}

bool Vocabulary::knows_principal(std::string_view id) const {
  return id == "gateway" || id == "client:local" || id.starts_with("local:") || id.starts_with("anonymous:") ||
         std::ranges::find(principals, id, &Principal::id) != principals.end() ||
         std::ranges::find(people, id, &Person::id) != people.end();
}

bool Vocabulary::knows_principals_of(std::string_view prefix) const {
  const auto begins = [&](const auto& one) { return one.id.starts_with(prefix); };
  const auto either = [&](std::string_view open) { return open.starts_with(prefix) || prefix.starts_with(open); };
  return std::string_view("client:local").starts_with(prefix) || either("local:") || either("anonymous:") ||
         std::ranges::any_of(principals, begins) || std::ranges::any_of(people, begins);
}

}  // namespace sallyport::policy
