#include "gateway/config/wrap.hpp"

#include <fmt/core.h>

#include "gateway/config/files.hpp"
#include "gateway/config/variables.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {

namespace {

constexpr std::string_view kWrapTag = "sallyport/wrap/v1";

std::string literal(const std::string& text) { return quote(literal_text(text)); }

}  // namespace

std::string wrap_server_id(const std::vector<std::string>& command) {
  std::string name = command.empty() ? std::string() : command.front();
  name = name.substr(name.rfind('/') + 1);
  if (const auto dot = name.find('.'); dot != std::string::npos && dot > 0) name.resize(dot);
  std::string id;
  for (const char c : name) {
    const bool fit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    id += fit ? c : '-';
  }
  if (id.size() > 48) id.resize(48);
  return id.empty() ? "server" : id;
}

std::string wrap_config(const std::vector<std::string>& command, const std::string& folder) {
  std::string args;
  for (std::size_t i = 1; i < command.size(); ++i) args += (args.empty() ? "" : ", ") + literal(command[i]);
  return fmt::format("{{ \"mcpServers\": {{ {}: {{ \"command\": {}, \"args\": [{}], \"cwd\": {} }} }} }}",
                     quote(wrap_server_id(command)), literal(command.empty() ? std::string() : command.front()), args,
                     literal(folder));
}

std::string wrap_state_dir(const std::string& default_state, const std::vector<std::string>& command,
                           const std::string& folder) {
  std::string key = literal(folder);
  for (const std::string& word : command) key += literal(word);
  const std::string digest = trust::hex(trust::tagged_hash(kWrapTag, key)).substr(0, 16);
  return resolve_path(default_state, fmt::format("wrap/{}-{}", wrap_server_id(command), digest));
}

}  // namespace sallyport::gateway
