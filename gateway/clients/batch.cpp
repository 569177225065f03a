#include "gateway/clients/batch.hpp"

namespace sallyport::gateway {
namespace {

struct Gathering {
  explicit Gathering(std::shared_ptr<Reply> reply, std::size_t requests) : whole(std::move(reply)), left(requests) {}
  std::shared_ptr<Reply> whole;
  std::size_t left;
  std::string texts;
  // Their promises go with the array: all were taken, or none.
  std::shared_ptr<std::vector<Delivery>> deliveries = std::make_shared<std::vector<Delivery>>();
};

class Part final : public Reply {
 public:
  explicit Part(std::shared_ptr<Gathering> batch) : batch_(std::move(batch)) {}
  void note(std::string message, bool droppable) override { batch_->whole->note(std::move(message), droppable); }
  bool ask(std::string message) override { return batch_->whole->ask(std::move(message)); }
  [[nodiscard]] bool open() const override { return batch_->whole->open(); }
  [[nodiscard]] bool takes_notes() const override { return batch_->whole->takes_notes(); }
  void finish(Finished finished) override {
    Gathering& batch = *batch_;
    if (!finished.cancelled) {
      if (!batch.texts.empty()) batch.texts += ',';
      batch.texts += finished.message;
      batch.deliveries->push_back(std::move(finished.delivery));
    }
    if (--batch.left > 0) return;
    Finished all;
    all.cancelled = batch.texts.empty();
    all.message = "[" + std::move(batch.texts) + "]";
    auto tell = [deliveries = batch.deliveries](bool taken) {
      for (Delivery& delivery : *deliveries) delivery.done(taken);
    };
    all.delivery = Delivery(std::move(tell), std::weak_ptr<const void>(batch.deliveries));
    batch.whole->finish(std::move(all));
  }

 private:
  std::shared_ptr<Gathering> batch_;
};

}  // namespace

std::vector<std::shared_ptr<Reply>> split_reply(std::shared_ptr<Reply> whole, std::size_t requests) {
  const auto batch = std::make_shared<Gathering>(std::move(whole), requests);
  std::vector<std::shared_ptr<Reply>> parts;
  parts.reserve(requests);
  for (std::size_t i = 0; i < requests; ++i) parts.push_back(std::make_shared<Part>(batch));
  return parts;
}

void finish_with(const mcp::IncomingFault& fault, Reply& part) {
  Finished finished;
  finished.message = mcp::error_response(fault.id, fault.error);
  finished.error = fault.error.code;
  part.finish(std::move(finished));
}

}  // namespace sallyport::gateway
