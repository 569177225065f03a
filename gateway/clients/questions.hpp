// Questions: what servers ask of one client (sampling, elicitation, roots) until it is answered: ids of our own, sent
// on the stream of the request that caused it, withdrawn when the server or the call gives up. On the loop.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "gateway/mcp/jsonrpc.hpp"
#include "gateway/ports/server_link.hpp"

namespace sallyport::gateway {

// What a client declared of itself that servers may ask for.
struct ClientAbilities {
  bool sampling = false, sampling_tools = false, form = false, url = false, roots = false;
  [[nodiscard]] static ClientAbilities read(json::Value capabilities);
  [[nodiscard]] std::string declared() const;  // the same as raw JSON
  // Why this cannot be asked of the client; empty: it can.
  [[nodiscard]] std::string lacks(const ServerQuestion& question) const;
};

class Questions : public std::enable_shared_from_this<Questions> {
 public:
  static constexpr std::size_t kMost = 32;  // open at once

  // Hands a message to the client; false: there is no way to it.
  using Send = std::function<bool(std::string message)>;

  static asio::awaitable<ClientReply> ask(std::shared_ptr<Questions> self, ServerQuestion question, Send send);
  // A response or an error of the client. False: nobody asked for it, or it was withdrawn.
  bool answered(const mcp::Message& message);
  void end();  // the client is gone
  // Whether this client was sent to a page with this id (`notifications/elicitation/complete`); forgotten with it.
  bool take_elicitation(const std::string& server, const std::string& id) {
    return elicitations_.erase({server, id}) > 0;
  }

 private:
  void remember_elicitation(const ServerQuestion& question);
  std::uint64_t next_ = 1;
  std::map<std::string, std::shared_ptr<OneShot<ClientReply>>, std::less<>> open_;  // by raw id
  std::set<std::pair<std::string, std::string>> elicitations_;                      // server and id; bounded
};

}  // namespace sallyport::gateway
