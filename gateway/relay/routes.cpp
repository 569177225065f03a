#include "gateway/relay/routes.hpp"

#include <fmt/format.h>

#include "gateway/ports/naming.hpp"

namespace sallyport::gateway::relay {
namespace {

Target one_of(const std::set<std::string>& servers, std::string_view uri) {
  if (servers.size() == 1) return {*servers.begin(), {}, {}};
  std::string names;
  for (const std::string& server : servers) names += (names.empty() ? "`" : ", `") + server + "`";
  return {{},
          {},
          fmt::format("Several servers offer the resource {}: {}. Read it at /servers/<id>/mcp of one of them.", uri,
                      names)};
}

// The bytes of what went.
template <class Table, class Gone>
std::size_t erase_of(Table& table, Gone gone) {
  std::size_t bytes = 0;
  for (auto it = table.begin(); it != table.end();) {
    bytes += it->first.size() * std::erase_if(it->second, gone);
    it = it->second.empty() ? table.erase(it) : std::next(it);
  }
  return bytes;
}

}  // namespace

bool Routes::has_room(const std::string& server, Table table, std::string_view name) {
  std::size_t& count = counts_[{server, table}];
  if (name.size() > kLongest || count >= (table == Table::templates ? kTemplates : kMost)) return false;
  ++count;
  bytes_ += name.size();
  return true;
}

void Routes::add_prompt(const std::string& server, const std::string& name) {
  std::string exposed = exposed_name(server, name);
  const auto known = prompts_.find(exposed);
  if (known != prompts_.end() && known->second.contains({server, name})) return;
  if (has_room(server, Table::prompts, exposed)) prompts_[std::move(exposed)].insert({server, name});
}

void Routes::add_resource(const std::string& server, const std::string& uri) {
  const auto known = resources_.find(uri);
  if (known != resources_.end() && known->second.contains(server)) return;
  if (has_room(server, Table::resources, uri)) resources_[uri].insert(server);
}

void Routes::add_template(const std::string& server, const std::string& uri_template) {
  const auto known = templates_.find(uri_template);
  if (known != templates_.end() && known->second.contains(server)) return;
  if (has_room(server, Table::templates, uri_template)) templates_[uri_template].insert(server);
}

void Routes::forget(const std::string& server, ListKind kind) {
  if (kind == ListKind::prompts) {
    bytes_ -= erase_of(prompts_, [&](const Prompt& prompt) { return prompt.server == server; });
    counts_.erase({server, Table::prompts});
  }
  if (kind != ListKind::resources) return;
  const auto same = [&](const std::string& other) { return other == server; };
  bytes_ -= erase_of(resources_, same);
  bytes_ -= erase_of(templates_, same);
  counts_.erase({server, Table::resources});
  counts_.erase({server, Table::templates});
}

Target Routes::prompt(std::string_view exposed) const {
  const auto found = prompts_.find(exposed);
  if (found == prompts_.end()) return {};
  if (found->second.size() == 1) return {found->second.begin()->server, found->second.begin()->name, {}};
  return {{}, {}, fmt::format("Two prompts have the name `{}`: get them at /servers/<id>/mcp.", exposed)};
}

Target Routes::resource(std::string_view uri) const {
  if (uri.size() > kLongest) return {};
  if (const auto exact = resources_.find(uri); exact != resources_.end()) return one_of(exact->second, uri);
  if (const auto itself = templates_.find(uri); itself != templates_.end()) return one_of(itself->second, uri);
  std::set<std::string> best;
  std::size_t longest = 0;
  for (const auto& [text, servers] : templates_) {
    if (!fits_template(text, uri)) continue;
    const std::size_t size = literal_size(text);
    if (best.empty() || size > longest) {
      best = servers;
      longest = size;
    } else if (size == longest) {
      best.insert(servers.begin(), servers.end());
    }
  }
  return best.empty() ? Target{} : one_of(best, uri);
}

}  // namespace sallyport::gateway::relay
