#include "gateway/control/people_book.hpp"

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

PeopleBook::PeopleBook(const std::vector<PersonSettings>& people, const std::vector<ClientSettings>& clients) {
  for (const PersonSettings& one : people) {
    if (one.token_sha256.empty()) continue;  // nobody can present it
    PersonSettings kept = one;
    kept.token_sha256 = lower_hex(std::move(kept.token_sha256));
    const bool shared = std::ranges::any_of(
        clients, [&](const ClientSettings& client) { return lower_hex(client.token_sha256) == kept.token_sha256; });
    if (!shared) people_.push_back(std::move(kept));
  }
}

Result<Person> PeopleBook::by_token(std::string_view token) const {
  const std::string presented = trust::sha256_hex(token);
  const PersonSettings* found = nullptr;
  for (const PersonSettings& one : people_) {  // all of them, so that the time says nothing
    if (equal_secret(presented, one.token_sha256)) found = &one;
  }
  if (found == nullptr) return fail(ErrorCode::forbidden, "the token is not one of a person", ErrorSource::client);
  return found->person;
}

const PersonSettings* PeopleBook::find(std::string_view id) const {
  const auto found = std::ranges::find_if(people_, [&](const PersonSettings& one) { return one.person.id == id; });
  return found == people_.end() ? nullptr : &*found;
}

std::optional<Person> PeopleBook::by_id(std::string_view id) const {
  const PersonSettings* found = find(id);
  if (found == nullptr) return std::nullopt;
  return found->person;
}

bool PeopleBook::same_token(std::string_view id, const PeopleBook& other) const {
  const PersonSettings* one = find(id);
  const PersonSettings* another = other.find(id);
  return one != nullptr && another != nullptr && one->token_sha256 == another->token_sha256;
}

}  // namespace sallyport::gateway
