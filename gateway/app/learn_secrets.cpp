#include "gateway/app/learn_secrets.hpp"

#include <set>
#include <string>

namespace sallyport::gateway {
namespace {

std::set<std::string> shown_in_clear(const Settings& settings) {
  std::set<std::string> clear;
  for (const auto& [name, value] : settings.vars) clear.insert(value);
  for (const auto& [id, server] : settings.servers) {
    clear.insert({id, server.command, server.cwd, server.url});
    clear.insert(server.args.begin(), server.args.end());
  }
  for (const ClientSettings& client : settings.clients) clear.insert(client.id);
  for (const PersonSettings& person : settings.people) clear.insert(person.person.id);
  return clear;
}

}  // namespace

void learn_secrets(const Settings& settings, KnownSecrets& secrets) {
  const std::set<std::string> clear = shown_in_clear(settings);
  for (const auto& [id, server] : settings.servers) {
    for (const auto& [name, value] : server.env) {
      if (!clear.contains(value.reveal())) secrets.add(value);
    }
    for (const auto& [name, source] : server.headers) {
      if (source.kind == SecretSource::Kind::literal) secrets.add(source.literal);
    }
  }
}

}  // namespace sallyport::gateway
