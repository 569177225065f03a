#include "gateway/base/metrics.hpp"

#include <malloc.h>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <map>
#include <mutex>

namespace sallyport::gateway {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::BuildHistogram;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

// Series of one family; more of them (a bug, or a config with thousands of servers) are counted together as `other`.
constexpr std::size_t kMaxSeries = 4096;

template <class Metric, class... Arguments>
Metric& series(Family<Metric>& family, std::map<std::string, Metric*, std::less<>>& known, const std::string& key,
               prometheus::Labels labels, Arguments... arguments) {
  if (const auto found = known.find(key); found != known.end()) return *found->second;
  if (known.size() >= kMaxSeries) {
    for (auto& [name, value] : labels) value = "other";
    return family.Add(labels, arguments...);
  }
  Metric& metric = family.Add(labels, arguments...);
  known.emplace(key, &metric);
  return metric;
}

std::string joined(std::string_view a, std::string_view b = {}, std::string_view c = {}) {
  std::string key(a);
  key += '\0';
  key += b;
  key += '\0';
  return key += c;
}

}  // namespace

struct Metrics::State {
  prometheus::Registry registry;
  Family<Counter>& calls = BuildCounter()
                               .Name("sallyport_calls_total")
                               .Help("Calls of tools by server, verdict and code.")
                               .Register(registry);
  Family<Histogram>& seconds = BuildHistogram()
                                   .Name("sallyport_call_seconds")
                                   .Help("Time from the arrival of a call to its answer.")
                                   .Register(registry);
  Family<Counter>& receipts =
      BuildCounter().Name("sallyport_receipts_total").Help("Receipts written, by kind.").Register(registry);
  Family<Gauge>& up = BuildGauge()
                          .Name("sallyport_server_up")
                          .Help("1 if the server answers, 0 if it is set aside.")
                          .Register(registry);
  Gauge& waiting = single("sallyport_approvals_waiting", "Asks that wait for an approver.");
  Gauge& session_count = single("sallyport_sessions", "Open client sessions.");
  Gauge& child_count = single("sallyport_children", "Running child processes of stdio servers.");
  Gauge& heap = single("sallyport_heap_bytes", "Bytes of the heap that are in use.");
  Gauge& unknown = single("sallyport_operations_unknown", "Operations whose outcome is unknown.");
  std::mutex mutex;  // of the maps; the metrics themselves are atomic
  std::map<std::string, Counter*, std::less<>> call_series;
  std::map<std::string, Counter*, std::less<>> receipt_series;
  std::map<std::string, Histogram*, std::less<>> second_series;
  std::map<std::string, Gauge*, std::less<>> up_series;

 private:
  Gauge& single(const char* name, const char* help) {
    return BuildGauge().Name(name).Help(help).Register(registry).Add({});
  }
};

Metrics::Metrics() : state_(std::make_unique<State>()) {}
Metrics::~Metrics() = default;

void Metrics::call(std::string_view server, std::string_view verdict, std::string_view code, double seconds) {
  static const Histogram::BucketBoundaries kBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                   0.5,   1,      2.5,   5,    10,    30,   60,  300};
  const std::scoped_lock lock(state_->mutex);
  const prometheus::Labels labels{
      {"server", std::string(server)}, {"verdict", std::string(verdict)}, {"code", std::string(code)}};
  series(state_->calls, state_->call_series, joined(server, verdict, code), labels).Increment();
  series(state_->seconds, state_->second_series, joined(server), {{"server", std::string(server)}}, kBounds)
      .Observe(seconds);
}

void Metrics::receipt(std::string_view kind) {
  const std::scoped_lock lock(state_->mutex);
  series(state_->receipts, state_->receipt_series, joined(kind), {{"kind", std::string(kind)}}).Increment();
}

void Metrics::waiting_approvals(std::int64_t now) { state_->waiting.Set(static_cast<double>(now)); }
void Metrics::sessions(std::int64_t now) { state_->session_count.Set(static_cast<double>(now)); }
void Metrics::children(std::int64_t now) { state_->child_count.Set(static_cast<double>(now)); }
void Metrics::unknown_operations(std::int64_t now) { state_->unknown.Set(static_cast<double>(now)); }

void Metrics::server_up(std::string_view server, bool up) {
  const std::scoped_lock lock(state_->mutex);
  series(state_->up, state_->up_series, joined(server), {{"server", std::string(server)}}).Set(up ? 1 : 0);
}

std::string Metrics::text() const {
  state_->heap.Set(static_cast<double>(mallinfo2().uordblks));
  return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

}  // namespace sallyport::gateway
