// Authenticator: from what a connection presents to who it is (design section 4). Pure; immutable; any thread.
//
// A bearer token is compared by its SHA-256, against every known one, in time that does not depend on where they
// differ. A wrong credential is refused even where anonymous connections are allowed: it is never taken for none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gateway/ports/settings.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway {

// Who a connection is. Anonymous ones have no principal id yet: each session gets its own (Sessions::open).
struct Identity {
  Principal principal;
  Millis hold{45'000};  // how long an ask holds a call of this client

  // Whether a session of `owner` may be used by this identity. By the stable id, not by the token: tokens are renewed.
  [[nodiscard]] bool may_use_session_of(const Principal& owner) const {
    return principal.anonymous ? owner.anonymous : !owner.anonymous && owner.id == principal.id;
  }
};

class Authenticator {
 public:
  // `own_client`: the client that first start made (`client:local`). `owner_uid`: the user of this process.
  explicit Authenticator(const Settings& settings, std::optional<ClientSettings> own_client = std::nullopt,
                         std::uint32_t owner_uid = process_uid());

  // forbidden: the token is not one of a client.
  [[nodiscard]] Result<Identity> by_token(std::string_view token) const;
  // Nothing was presented. forbidden: anonymous connections are not allowed.
  [[nodiscard]] Result<Identity> without_credential() const;
  // A peer of our Unix socket without a token: `local:<uid>` if it is our own user, else as without_credential().
  [[nodiscard]] Result<Identity> by_peer(std::optional<std::uint32_t> uid) const;

  // Whether a session that was opened by this principal would be opened for just the same one now.
  [[nodiscard]] bool still_knows(const Principal& principal) const;

  [[nodiscard]] static std::uint32_t process_uid();

 private:
  struct Known {
    std::string token_sha256;  // lower-case hex
    Identity identity;
  };
  std::vector<Known> known_;
  bool anonymous_;
  std::uint32_t owner_uid_;
};

}  // namespace sallyport::gateway
