// PeopleBook: from a bearer token to the person whose it is (design section 11). Pure; immutable; any thread.
//
// Compared by SHA-256, against every known person, in time that does not depend on where they differ. A token that is
// also a client's is nobody's: whoever asks must never be able to answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/ports/settings.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway {

class PeopleBook {
 public:
  explicit PeopleBook(const std::vector<PersonSettings>& people, const std::vector<ClientSettings>& clients = {});

  // forbidden: the token is nobody's.
  [[nodiscard]] Result<Person> by_token(std::string_view token) const;
  [[nodiscard]] std::optional<Person> by_id(std::string_view id) const;
  // Whether this person is in both, with the same token.
  [[nodiscard]] bool same_token(std::string_view id, const PeopleBook& other) const;
  [[nodiscard]] bool empty() const { return people_.empty(); }

 private:
  [[nodiscard]] const PersonSettings* find(std::string_view id) const;

  std::vector<PersonSettings> people_;  // digests in lower case
};

}  // namespace sallyport::gateway
