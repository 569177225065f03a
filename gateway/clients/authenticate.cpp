#include "gateway/clients/authenticate.hpp"

#include <unistd.h>

#include <algorithm>

#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace {

std::string lower_hex(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c; });
  return text;
}

}  // namespace

Authenticator::Authenticator(const Settings& settings, std::optional<ClientSettings> own_client,
                             std::uint32_t owner_uid)
    : anonymous_(settings.anonymous), owner_uid_(owner_uid) {
  const auto add = [this](const ClientSettings& client) {
    if (client.token_sha256.empty()) return;  // nobody can present it
    Identity identity{{.id = client.id, .groups = client.groups, .owner = client.owner}, client.hold};
    known_.push_back({lower_hex(client.token_sha256), std::move(identity)});
  };
  for (const ClientSettings& client : settings.clients) add(client);
  if (own_client) add(*own_client);
}

Result<Identity> Authenticator::by_token(std::string_view token) const {
  const std::string presented = trust::sha256_hex(token);
  const Known* found = nullptr;
  for (const Known& known : known_) {  // all of them, so that the time says nothing
    if (equal_secret(presented, known.token_sha256)) found = &known;
  }
  if (found == nullptr)
    return fail(ErrorCode::forbidden, "the token is not one of a known client", ErrorSource::client);
  return found->identity;
}

Result<Identity> Authenticator::without_credential() const {
  if (!anonymous_) return fail(ErrorCode::forbidden, "a client's token is needed", ErrorSource::client);
  Identity identity;
  identity.principal.anonymous = true;
  return identity;
}

Result<Identity> Authenticator::by_peer(std::optional<std::uint32_t> uid) const {
  if (!uid || *uid != owner_uid_) return without_credential();
  Identity identity;
  identity.principal.id = "local:" + std::to_string(*uid);
  return identity;
}

bool Authenticator::still_knows(const Principal& principal) const {
  if (principal.anonymous) return anonymous_;
  if (principal.id == "local:" + std::to_string(owner_uid_)) return true;
  return std::ranges::any_of(known_, [&](const Known& known) {
    const Principal& now = known.identity.principal;
    return now.id == principal.id && now.groups == principal.groups && now.owner == principal.owner;
  });
}

std::uint32_t Authenticator::process_uid() { return static_cast<std::uint32_t>(::geteuid()); }

}  // namespace sallyport::gateway
