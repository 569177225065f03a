// Doors: the listeners of a running owner: two sockets in the state folder, and TCP for clients and for people.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/net/listener.hpp"
#include "gateway/ports/settings.hpp"
#include "gateway/storage/state_folder.hpp"

namespace sallyport::gateway {

class Doors {
 public:
  // Who takes what comes in.
  struct Behind {
    Listener::OnAccept http, control, stdio;
  };
  // `tcp`: on TCP too, where the settings say so. Error: names the listener.
  Status open(const asio::any_io_executor& loop, const Settings& settings, const StateFolder& folder, bool tcp,
              const Behind& behind);
  void close();  // nothing more comes in; what came in stays

  [[nodiscard]] const std::string& client_address() const { return client_address_; }  // empty: not on TCP
  [[nodiscard]] const std::string& control_address() const { return control_address_; }

 private:
  Status add(Result<std::unique_ptr<Listener>> listener, const char* name, const Listener::OnAccept& on_accept);
  Result<std::string> add_tcp(const asio::any_io_executor& loop, const ListenSettings& settings, const char* name,
                              const Listener::OnAccept& on_accept);

  std::vector<std::unique_ptr<Listener>> listeners_;
  std::string client_address_, control_address_;
};

}  // namespace sallyport::gateway
