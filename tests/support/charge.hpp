// A gateway in front of `pay`, whose `charge` must not run twice: the server counts what it executes and fails as told.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "tests/support/rig.hpp"

namespace sallyport::test {

// What one call of `charge` meets. Done: the server executed it.
enum class Fault { none, reset_before, reset_during, reset_after, lost_answer, late_answer, error, transient, refused };

class Charge {
 public:
  static constexpr const char* kCharge =
      R"({"name":"charge","inputSchema":{"type":"object","properties":{"account":{"type":"string"},"amount":{"type":"number"},"request_id":{"type":"string"}},"required":["account"]}})";
  static constexpr const char* kFind =
      R"({"name":"find","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"found":{"type":"boolean"}},"required":["found"]}})";
  static constexpr const char* kAllow =
      R"({"default":"deny","rules":[{"id":"reads","allow":{"effect":"read"}},{"id":"pay","allow":{"server":"pay","tool":"charge"}}]})";

  // `contract`: members of charge's entry beside effect and scope.
  static RigOptions options(Charge& charge, const std::string& contract = {}, const std::string& policy = kAllow) {
    RigOptions options;
    options.policy = policy;
    options.trust = R"({"servers":{"pay":{"tools":{"find":"read","charge":{"effect":"external","destructive":false,)"
                    R"("scope":"accounts/{/account}")" +
                    (contract.empty() ? "" : "," + contract) + "}}}}}";
    options.servers["pay"].tools = {kCharge, kFind};
    options.servers["pay"].on_call = [&charge](Dispatched& call) { charge.answer(call); };
    return options;
  }

  int executed = 0;                 // by `charge`, of calls whose key was not seen before
  std::deque<Fault> faults;         // of the next calls of `charge`; then none
  std::map<std::string, int> keys;  // executed once each
  std::function<std::string()> find = [this] { return executed > 0 ? std::string("true") : std::string("false"); };
  std::function<void(Dispatched&)> before;  // sees every call first
  std::vector<Dispatched> late;             // calls whose answer the test gives later

  static constexpr const char* kPaid =
      R"({"content":[{"type":"text","text":"paid"}],"structuredContent":{"paid":true}})";

  void answer(Dispatched& call) {
    if (before) before(call);
    if (call.tool == "find") {
      call.result(R"({"content":[],"structuredContent":{"found":)" + find() + "}}");
      return;
    }
    Fault fault = Fault::none;
    if (!faults.empty()) {
      fault = faults.front();
      faults.pop_front();
    }
    strike(call, fault);
  }

 private:
  void execute(const Dispatched& call) {
    const auto at = call.meta.find("\"k\":\"");  // the key, where the contract sends it in `_meta`
    const std::string key = at == std::string::npos ? std::string() : call.meta.substr(at);
    if (key.empty() || keys[key]++ == 0) ++executed;
  }

  void strike(Dispatched& call, Fault fault) {
    switch (fault) {
      case Fault::reset_before:
        call.not_sent();
        return;
      case Fault::reset_during:
        call.lose("the connection was reset while the request was sent");
        return;
      case Fault::reset_after:
        execute(call);
        call.lose("the connection was reset");
        return;
      case Fault::lost_answer:
        execute(call);
        call.lose("no answer in time", true);
        return;
      case Fault::late_answer:
        execute(call);
        call.lose("no answer in time", true);
        late.push_back(call);
        return;
      case Fault::error:
        call.result(R"({"content":[{"type":"text","text":"no"}],"isError":true})");
        return;
      case Fault::transient:
        call.error(R"({"code":-32050,"message":"busy"})");
        return;
      case Fault::refused:
        call.error(R"({"code":-32001,"message":"not allowed"})");
        return;
      case Fault::none:
        execute(call);
        call.result(kPaid);
        return;
    }
  }
};

// The last outcome that receipts tell of the operation.
inline std::string told_outcome(Rig& rig, const std::string& operation) {
  std::string outcome;
  for (const ReceiptRow& row : rig.receipts()) {
    if (row.operation == operation && !row.outcome.empty()) outcome = row.outcome;
  }
  return outcome;
}

inline std::size_t count_kind(Rig& rig, const std::string& kind, const std::string& operation) {
  std::size_t count = 0;
  for (const ReceiptRow& row : rig.receipts(kind)) count += row.operation == operation ? 1 : 0;
  return count;
}

}  // namespace sallyport::test
