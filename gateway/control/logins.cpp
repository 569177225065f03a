#include "gateway/control/logins.hpp"

#include <algorithm>
#include <array>

#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";  // 32, without what looks alike
constexpr std::size_t kMostAddresses = 1024;

std::string plain(std::string_view code) {
  std::string out;
  for (const char c : code) {
    if (c == '-' || c == ' ') continue;
    out += c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  }
  return out;
}

// "127.0.0.1:5123" and "[::1]:5123" without the port; of a Unix socket as it is.
std::string address_of(const std::string& peer) {
  const std::size_t colon = peer.rfind(':');
  return colon == std::string::npos || peer.starts_with("unix") ? peer : peer.substr(0, colon);
}

}  // namespace

Logins::Code Logins::make_code(const std::string& person) {
  std::array<std::uint8_t, 8> bytes{};
  entropy_.fill(bytes);
  std::string code;
  for (const std::uint8_t byte : bytes) code += kAlphabet[byte % kAlphabet.size()];
  const UnixMillis expires = clock_.now() + kCodeLife.count();
  std::erase_if(codes_, [&](const Open& open) { return open.person == person || over(open, clock_.now()); });
  codes_.push_back({trust::sha256_hex(code), person, expires, Deadline::after(kCodeLife)});
  return {code.substr(0, 4) + "-" + code.substr(4), expires};
}

Result<Logins::Session> Logins::enter(std::string_view code, const std::string& peer) {
  if (locked(peer)) return fail(ErrorCode::limit, "too many wrong codes came from there: wait a minute");
  const std::string presented = trust::sha256_hex(plain(code));
  const UnixMillis now = clock_.now();
  std::erase_if(codes_, [&](const Open& open) { return over(open, now); });
  const auto found = std::ranges::find_if(codes_, [&](const Open& open) { return equal_secret(presented, open.hash); });
  if (found == codes_.end()) {
    wrong(peer).codes += 1;
    if (locked(peer)) codes_.clear();
    return fail(ErrorCode::forbidden, "this code is not known (any more): `sallyport login` makes another",
                ErrorSource::client);
  }
  Session session{"ss_" + entropy_.token(32), found->person, now + kSessionLife.count()};
  codes_.erase(found);
  std::erase_if(sessions_, [&](const Open& open) { return over(open, now); });
  if (sessions_.size() >= kMostSessions) sessions_.erase(sessions_.begin());  // the oldest
  sessions_.push_back(
      {trust::sha256_hex(session.token), session.person, session.expires, Deadline::after(kSessionLife)});
  return session;
}

std::optional<std::string> Logins::person_of(std::string_view token) {
  if (!token.starts_with("ss_")) return std::nullopt;
  const std::string presented = trust::sha256_hex(token);
  const Open* found = nullptr;
  for (const Open& open : sessions_) {
    if (equal_secret(presented, open.hash)) found = &open;
  }
  if (found == nullptr || over(*found, clock_.now())) return std::nullopt;
  return found->person;
}

void Logins::leave(std::string_view token) {
  const std::string presented = trust::sha256_hex(token);
  std::erase_if(sessions_, [&](const Open& open) { return open.hash == presented; });
}

void Logins::keep(const std::function<bool(const std::string& person)>& stays) {
  const auto over = [&](const Open& open) { return !stays(open.person); };
  std::erase_if(codes_, over);
  std::erase_if(sessions_, over);
}

Logins::Wrong& Logins::wrong(const std::string& peer) {
  std::erase_if(wrong_, [](const auto& entry) { return entry.second.until.passed(); });
  if (wrong_.size() >= kMostAddresses) wrong_.erase(wrong_.begin());
  Wrong& entry = wrong_[address_of(peer)];
  entry.until = Deadline::after(kLockout);
  return entry;
}

bool Logins::wrong_token(const std::string& peer) {
  Wrong& entry = wrong(peer);
  entry.tokens += entry.tokens < kMostWrongTokens ? 1 : 0;
  return entry.tokens < kMostWrongTokens;
}

bool Logins::locked(const std::string& peer) const {
  const auto it = wrong_.find(address_of(peer));
  return it != wrong_.end() && !it->second.until.passed() && it->second.codes >= kMostWrongCodes;
}

}  // namespace sallyport::gateway
