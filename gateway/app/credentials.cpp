#include "gateway/app/credentials.hpp"

#include <fmt/format.h>

#include "gateway/config/files.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace {

constexpr unsigned kEveryRole = static_cast<unsigned>(Role::approver) | static_cast<unsigned>(Role::operator_) |
                                static_cast<unsigned>(Role::auditor) | static_cast<unsigned>(Role::watcher);

// The hash of the store's own credential `name`; made now if there is none: first the secret in its file, then the hash
// in the store, so that a crash in between only makes it anew.
asio::awaitable<Result<std::string>> keep(std::string name, std::string file, std::string who, Store& store,
                                          Entropy& entropy, std::vector<std::string>& told) {
  std::optional<std::string> known;
  auto read = co_await store.read([&](Tx& tx) -> Status {
    known = tx.setting(name);
    return {};
  });
  if (!read) co_return fail(read.error());
  if (known) co_return std::move(*known);
  const NewToken fresh = new_token(entropy);
  if (auto written = atomic_write(file, fresh.token + "\n", 0600); !written) co_return fail(written.error());
  auto stored = co_await store.commit(Durability::power, [&](Tx& tx) { return tx.put_setting(name, fresh.sha256); });
  if (!stored) co_return fail(stored.error());
  told.push_back(fmt::format("Made the credential of {}; it is in {}", who, file));
  co_return fresh.sha256;
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
    auto hash = co_await keep("owner.tokenSha256", settings.state_dir + "/owner.token",
                              "the person `owner` (all roles)", store, entropy, own.told);
    if (!hash) co_return fail(hash.error());
    own.owner = PersonSettings{Person{"owner", kEveryRole, {"owners"}}, *hash};
  }
  if (settings.clients.empty()) {
    auto hash = co_await keep("client.tokenSha256", settings.state_dir + "/client.token", "the client `client:local`",
                              store, entropy, own.told);
    if (!hash) co_return fail(hash.error());
    own.client = ClientSettings{"client:local", *hash, {}, {}, Millis(45'000)};
  }
  co_return own;
}

}  // namespace sallyport::gateway
