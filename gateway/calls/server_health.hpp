// ServerHealth: whether a server is worth another attempt. Two bounds per server, kept in memory: retry tokens, so that
// a server in trouble is not given more work by those who retry, and a breaker, which after several failures in a row
// lets nothing through for a while and then one read, whose good answer opens the way again. A write is never a probe.
// Pure: time comes as an argument. On the loop.
#pragma once

#include <chrono>

namespace sallyport::gateway::calls {

class ServerHealth {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Wait = std::chrono::steady_clock::duration;

  static constexpr int kTokens = 100;  // at most; a retry takes kRetryCosts, a good answer gives kAnswerGives
  static constexpr int kRetryCosts = 10;
  static constexpr int kAnswerGives = 1;
  static constexpr int kFailuresToOpen = 5;  // in a row
  static constexpr std::chrono::seconds kFirstRest{5};
  static constexpr std::chrono::seconds kLongestRest{60};
  static constexpr std::chrono::seconds kProbeTakes{30};  // a probe of which nothing is heard any more is over

  enum class Gate : unsigned char {
    open,         // go on
    probe,        // go on: this call, a read, is the probe
    needs_probe,  // a write: a read of the gateway's own has to succeed first
    shut,         // not now
  };
  [[nodiscard]] Gate admit(bool is_read, Time now);
  [[nodiscard]] Wait rest(Time now) const;  // until something may go through again

  // Takes what a retry costs. False: too little is left, do not retry.
  [[nodiscard]] bool take_retry();

  void succeeded();
  void failed(Time now);

  [[nodiscard]] int failures() const { return failures_; }

 private:
  int tokens_ = kTokens;
  int failures_ = 0;
  Wait rest_ = kFirstRest;  // the next one
  Time shut_until_{};       // while failures_ >= kFailuresToOpen
  Time probing_until_{};
};

// The pause before attempt `attempt` (from 2): full jitter, exponential, bounded. `random`: uniform.
[[nodiscard]] std::chrono::milliseconds retry_pause(int attempt, unsigned random);

}  // namespace sallyport::gateway::calls
