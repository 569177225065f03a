// HeaderSource: the configured headers of an HTTP server; values from files and commands are read again (design section
// 4), at most once a second and once in half a minute, and at once after the server refused them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "gateway/net/http.hpp"
#include "gateway/servers/link.hpp"

namespace sallyport::gateway::servers {

class HeaderSource {
 public:
  HeaderSource(std::shared_ptr<LinkContext> context, const std::map<std::string, SecretSource>& headers);
  // Errors name the header and never its value; RetryClass::not_sent.
  asio::awaitable<Result<HttpHeaders>> get(Deadline deadline);
  void forget();  // the server refused what it was given

 private:
  struct Entry {
    SecretSource source;
    Secret value;
    Deadline fresh_until = Deadline::at({});
  };
  asio::awaitable<Status> refresh(std::string name, Entry& entry, Deadline deadline);
  std::shared_ptr<LinkContext> context_;
  std::map<std::string, Entry> entries_;
};

// For the config's check as well: a header that belongs to the transport cannot be configured.
[[nodiscard]] Status check_header_name(const std::string& name);

}  // namespace sallyport::gateway::servers
