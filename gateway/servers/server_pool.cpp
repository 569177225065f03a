#include "gateway/servers/server_pool.hpp"

#include "gateway/servers/pool.hpp"

namespace sallyport::gateway {
namespace {

// Tasks of the pool hold the Pool itself; this is what its owner holds.
class PoolHandle final : public Servers {
 public:
  explicit PoolHandle(std::shared_ptr<servers::Pool> pool) : pool_(std::move(pool)) { pool_->run(); }
  ~PoolHandle() override { pool_->abandon(); }
  [[nodiscard]] std::vector<ServerStatus> status() const override { return pool_->status(); }
  asio::awaitable<Result<std::shared_ptr<ServerLink>>> link(LinkKey key, Deadline deadline) override {
    return pool_->link(std::move(key), deadline);
  }
  [[nodiscard]] std::string spoken(const std::string& server) const override { return pool_->spoken(server); }
  [[nodiscard]] std::vector<std::pair<std::string, std::shared_ptr<ServerLink>>> open_links(
      const std::string& principal) override {
    return pool_->open_links(principal);
  }
  asio::awaitable<void> shutdown(Deadline deadline) override { return pool_->shutdown(deadline); }

 private:
  std::shared_ptr<servers::Pool> pool_;
};

}  // namespace

std::unique_ptr<Servers> make_server_pool(asio::any_io_executor loop,
                                          const std::map<std::string, ServerSettings>& servers, LimitSettings limits,
                                          ServerEvents& events, Workers& workers, Clock& /*clock*/, Entropy& entropy,
                                          std::string version, PoolOptions options) {
  auto own_events = std::make_shared<servers::PoolEvents>(loop, events, options.change_quiet);
  auto context = std::make_shared<servers::LinkContext>(loop, own_events, workers, entropy);
  context->limits = limits;
  context->options = options;
  context->environment = servers::allowed_environment();
  context->version = std::move(version);
  return std::make_unique<PoolHandle>(
      std::make_shared<servers::Pool>(std::move(context), std::move(own_events), servers));
}

}  // namespace sallyport::gateway
