#include "gateway/app/credentials.hpp"

#include <fmt/format.h>

#include "gateway/config/files.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace {

constexpr unsigned kEveryRole = static_cast<unsigned>(Role::approver) | static_cast<unsigned>(Role::operator_) |
                                static_cast<unsigned>(Role::auditor) | static_cast<unsigned>(Role::watcher);

struct Kept {
  std::string sha256;
  std::string made;  // the secret, if it was made just now
};

asio::awaitable<Result<Kept>> keep(std::string name, Store& store, Entropy& entropy) {
  const NewToken fresh = new_token(entropy);
  Kept kept;
  auto stored = co_await store.commit(Durability::power, [&](Tx& tx) -> Status {
    if (auto known = tx.setting(name)) {
      kept = {*known, {}};
      return {};
    }
    kept = {fresh.sha256, fresh.token};
    return tx.put_setting(name, fresh.sha256);
  });
  if (!stored) co_return fail(stored.error());
  co_return kept;
}

Status hand_out(const std::string& file, const Kept& kept, const std::string& who, std::vector<std::string>& told) {
  if (kept.made.empty()) return {};
  if (auto written = atomic_write(file, kept.made + "\n", 0600); !written) return written;
  told.push_back(fmt::format("Made the credential of {}; it is in {}", who, file));
  return {};
}

}  // namespace

NewToken new_token(Entropy& entropy) {
  NewToken made;
  made.token = "sp_" + entropy.token(32);
  made.sha256 = trust::sha256_hex(made.token);
  return made;
}

asio::awaitable<Result<OwnCredentials>> own_credentials(const Settings& settings, Store& store, Entropy& entropy) {
  OwnCredentials own;
  if (settings.people.empty()) {
    auto kept = co_await keep("owner.tokenSha256", store, entropy);
    if (!kept) co_return fail(kept.error());
    own.owner = PersonSettings{Person{"owner", kEveryRole, {"owners"}}, kept->sha256};
    if (auto written = hand_out(settings.state_dir + "/owner.token", *kept, "the person `owner` (all roles)", own.told);
        !written) {
      co_return fail(written.error());
    }
  }
  if (settings.clients.empty()) {
    auto kept = co_await keep("client.tokenSha256", store, entropy);
    if (!kept) co_return fail(kept.error());
    own.client = ClientSettings{"client:local", kept->sha256, {}, {}, Millis(45'000)};
    if (auto written = hand_out(settings.state_dir + "/client.token", *kept, "the client `client:local`", own.told);
        !written) {
      co_return fail(written.error());
    }
  }
  co_return own;
}

}  // namespace sallyport::gateway
