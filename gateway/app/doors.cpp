#include "gateway/app/doors.hpp"

namespace sallyport::gateway {

Status Doors::add(Result<std::unique_ptr<Listener>> listener, const char* name, const Listener::OnAccept& on_accept) {
  if (!listener) return fail_in(name, listener.error());
  (*listener)->start(on_accept);
  listeners_.push_back(std::move(*listener));
  return {};
}

Result<std::string> Doors::add_tcp(const asio::any_io_executor& loop, const ListenSettings& settings, const char* name,
                                   const Listener::OnAccept& on_accept) {
  ListenOptions options;
  options.name = name;
  if (!settings.certificate.empty()) {
    auto tls = TlsServerContext::load(settings.certificate, settings.key);
    if (!tls) return fail_in(name, tls.error());
    options.tls = std::move(*tls);
  }
  auto listener = Listener::tcp(loop, settings.address, settings.port, std::move(options));
  if (auto added = add(std::move(listener), name, on_accept); !added) return fail(added.error());
  return listeners_.back()->address();
}

Status Doors::open(const asio::any_io_executor& loop, const Settings& settings, const StateFolder& folder, bool tcp,
                   const Behind& behind) {
  const auto socket = [&](const char* file, const Listener::OnAccept& on_accept) {
    ListenOptions options;
    options.name = file;
    return add(Listener::unix_socket(loop, folder.file(file), std::move(options)), file, on_accept);
  };
  // The sockets first: whoever finds them finds a gateway that answers.
  if (auto opened = socket("control.sock", behind.control); !opened) return opened;
  if (auto opened = socket("client.sock", behind.stdio); !opened) return opened;
  if (tcp && settings.listen.enabled) {
    auto address = add_tcp(loop, settings.listen, "listen", behind.http);
    if (!address) return fail(address.error());
    client_address_ = std::move(*address);
  }
  if (tcp && settings.control.enabled) {
    auto address = add_tcp(loop, settings.control, "control", behind.control);
    if (!address) return fail(address.error());
    control_address_ = std::move(*address);
  }
  return {};
}

void Doors::close() {
  for (const auto& listener : listeners_) listener->close();
}

}  // namespace sallyport::gateway
