// Logins: one-time codes that bring a person to the console without typing a token, the sessions that come of them, and
// the lockout of who guesses (design section 11). In memory: a restart ends all of them. On the loop. Internal to
// control.
//
// A code is eight characters (40 bits), good for five minutes and once, one per person. Wrong codes and wrong tokens
// count per address; who had too many is refused for a minute, but a right token always passes, so that nobody can lock
// a person out. Too many wrong codes void every code that is out.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/clock.hpp"
#include "gateway/base/deadline.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway {

class Logins {
 public:
  static constexpr Millis kCodeLife = std::chrono::minutes(5);
  static constexpr Millis kSessionLife = std::chrono::hours(12);
  static constexpr std::size_t kMostSessions = 256;
  static constexpr unsigned kMostWrongCodes = 8;     // of an address until it was quiet for kLockout
  static constexpr unsigned kMostWrongTokens = 300;  // they are long, and programs repeat them
  static constexpr Millis kLockout = std::chrono::minutes(1);

  Logins(Clock& clock, Entropy& entropy) : clock_(clock), entropy_(entropy) {}

  struct Code {
    std::string code;  // `ABCD-EFGH`
    UnixMillis expires = 0;
  };
  [[nodiscard]] Code make_code(const std::string& person);

  struct Session {
    std::string token;
    std::string person;
    UnixMillis expires = 0;
  };
  // limit: locked out; forbidden: no such code (any more). Case, dashes and spaces do not matter.
  [[nodiscard]] Result<Session> enter(std::string_view code, const std::string& address);

  // The person of a session; nullopt: none, or over.
  [[nodiscard]] std::optional<std::string> person_of(std::string_view token);
  void leave(std::string_view token);
  // Ends the codes and sessions of whoever `stays` says no of: a person who is gone, or whose token was replaced.
  void keep(const std::function<bool(const std::string& person)>& stays);

  // A token that nobody has. False: so many came from there that it is locked out.
  [[nodiscard]] bool wrong_token(const std::string& address);

 private:
  struct Open {
    std::string hash, person;
    UnixMillis expires = 0;
    Deadline until;
  };
  struct Wrong {
    unsigned codes = 0, tokens = 0;
    Deadline until;
  };
  Wrong& wrong(const std::string& address);
  [[nodiscard]] bool locked(const std::string& address) const;  // for codes
  static bool over(const Open& open, UnixMillis now) { return now >= open.expires || open.until.passed(); }

  Clock& clock_;
  Entropy& entropy_;
  std::vector<Open> codes_, sessions_;
  std::map<std::string, Wrong> wrong_;  // bounded; by address without port
};

}  // namespace sallyport::gateway
