// The credentials of a first start (design section 4): where the config names no person (or no client), `owner` (or
// `client:local`) is made, its hash kept in the store, its secret written once to a file that only this user can read,
// and told on standard error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gateway/base/clock.hpp"
#include "gateway/ports/settings.hpp"
#include "gateway/ports/store.hpp"

namespace sallyport::gateway {

struct OwnCredentials {
  std::optional<PersonSettings> owner;
  std::optional<ClientSettings> client;
  std::vector<std::string> told;  // lines for a person: what was made and where its secret lies
};

// A setting of the store holds the hashes; the files are `owner.token` and `client.token` in the state folder.
asio::awaitable<Result<OwnCredentials>> own_credentials(const Settings& settings, Store& store, Entropy& entropy);

struct NewToken {
  std::string token;   // `sp_` and 43 characters
  std::string sha256;  // hex: what the config holds
};
[[nodiscard]] NewToken new_token(Entropy& entropy);

}  // namespace sallyport::gateway
