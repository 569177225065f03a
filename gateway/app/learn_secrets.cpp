#include "gateway/app/learn_secrets.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

namespace sallyport::gateway {
namespace {

constexpr std::size_t kShortestValue = 8;

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

// What the surroundings hold for programs under a name that says what it is: `${NAME}` puts it into arguments and URLs.
bool is_named_secret(std::string_view name, std::string_view value) {
  if (value.size() < kShortestValue || value.front() == '/') return false;  // a path leads to one, and is none
  static constexpr std::array kWords{"TOKEN",  "SECRET",     "PASSWORD",    "PASSWD",    "API_KEY",
                                     "APIKEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL"};
  std::string upper(name);
  std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return std::ranges::any_of(kWords, [&](const char* word) { return upper.find(word) != std::string::npos; });
}

}  // namespace

void learn_environment(char** variables, KnownSecrets& secrets) {
  for (; variables != nullptr && *variables != nullptr; ++variables) {
    const std::string_view entry(*variables);
    const std::size_t sign = entry.find('=');
    if (sign == std::string_view::npos) continue;
    const std::string_view value = entry.substr(sign + 1);
    if (is_named_secret(entry.substr(0, sign), value)) secrets.add(Secret(std::string(value)));
  }
}

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
