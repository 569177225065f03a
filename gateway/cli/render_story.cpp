// The whole story of an operation from its receipts: what was asked, decided, approved, done and found out, in order.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>

#include "gateway/cli/page.hpp"
#include "gateway/cli/render.hpp"
#include "gateway/cli/times.hpp"

namespace sallyport::gateway::cli {
namespace bj = boost::json;

namespace {

struct Line {
  std::string time;  // UTC: sorts as text
  std::string what, says;
  std::size_t number = 0;  // as it came, among those of one time
};

class Story {
 public:
  void add(const bj::object& row) {
    const bj::object& predicate = child(child(row, "receipt"), "predicate");
    const bj::object& times = child(predicate, "times");
    id_ = text(row, "id");
    const std::string at = text(row, "time");
    const std::string kind = text(row, "kind");
    if (kind != "repeat") received(predicate, times);
    votes(predicate);
    if (kind == "intent" || kind == "call") decided(predicate, times, at);
    if (kind == "outcome" || kind == "call") answered(predicate, times);
    if (kind == "approval")
      line(at, "approval",
           text(child(predicate, "approval"), "id") + " " + text(child(predicate, "approval"), "state"));
    if (kind == "refusal") line(at, "refused", reasons(predicate) + counted(predicate));
    if (kind == "repeat") line(at, "repeated", "a call that is this operation: " + text(predicate, "principal"));
    if (kind == "reconciliation") line(at, "resolved", outcome(predicate) + event(predicate));
    if (kind == "access") line(at, "arguments", event(predicate).substr(2));
  }

  [[nodiscard]] std::string take() {
    std::ranges::sort(lines_, {}, [](const Line& one) { return std::pair(std::string_view(one.time), one.number); });
    std::vector<std::vector<std::string>> rows;
    for (const Line& one : lines_) {
      const auto moment = from_utc(one.time);
      rows.push_back({"  " + (moment ? local_and_utc(*moment) : one.time), one.what, one.says});
    }
    return rows.empty() ? std::string() : render_table({"  TIME", "WHAT", ""}, rows);
  }

 private:
  void line(const std::string& time, std::string what, std::string says) {
    lines_.push_back({time, std::move(what), std::move(says) + "  " + id_, lines_.size()});
  }

  // Once: every receipt of the operation tells it.
  void received(const bj::object& predicate, const bj::object& times) {
    const std::string time = text(times, "received");
    if (time.empty() || received_) return;
    received_ = true;
    const bj::object& claimed = child(predicate, "claimed");
    const bj::object& request = child(predicate, "request");
    std::string says = text(predicate, "principal");
    if (!text(claimed, "name").empty())
      says += fmt::format(" ({} {})", text(claimed, "name"), text(claimed, "version"));
    if (!text(request, "transport").empty())
      says += fmt::format(", {} {}", text(request, "transport"), text(request, "protocol"));
    line(time, "received", says);
  }

  void votes(const bj::object& predicate) {
    const bj::object& approval = child(predicate, "approval");
    for (const bj::value& value : list(approval, "votes")) {
      const auto* vote = value.if_object();
      if (vote == nullptr) continue;
      const std::string reason = text(*vote, "reason");
      std::string says =
          fmt::format("{} by {} on {}, who saw {}{}", text(*vote, "vote"), text(*vote, "by"), text(approval, "id"),
                      text(*vote, "seen").substr(0, 23), reason.empty() ? "" : ": " + reason);
      const bool told = std::ranges::any_of(lines_, [&](const Line& known) {
        return known.what == "vote" && known.time == text(*vote, "at") && known.says.starts_with(says);
      });
      if (!told) line(text(*vote, "at"), "vote", std::move(says));
    }
  }

  void decided(const bj::object& predicate, const bj::object& times, const std::string& at) {
    const bj::object& decision = child(predicate, "decision");
    std::string says = text(decision, "verdict");
    std::string rules;
    for (const bj::value& value : list(decision, "rules")) {
      if (const auto* rule = value.if_object())
        rules += fmt::format("{}{} says {}", rules.empty() ? "" : ", ", text(*rule, "id"), text(*rule, "verdict"));
    }
    if (!rules.empty()) says += " (" + rules + ")";
    if (flag(decision, "byDefault")) says += " (by default)";
    const bj::object& scope = child(predicate, "scope");
    if (!text(scope, "name").empty()) says += ", scope " + text(scope, "name");
    if (!text(scope, "revision").empty()) says += " revision " + text(scope, "revision");
    const std::string time = text(times, "decided");
    line(time.empty() ? at : time, "decided", says);
  }

  void answered(const bj::object& predicate, const bj::object& times) {
    const std::string attempt = text(predicate, "attempt");
    if (const std::string sent = text(times, "sent"); !sent.empty())
      line(sent, "sent", attempt.empty() ? "" : "attempt " + attempt);
    const bj::object& result = child(predicate, "result");
    if (const std::string time = text(times, "answered"); !time.empty()) {
      const std::string bytes = text(result, "bytes");
      line(time, "answered", text(result, "status") + (bytes.empty() ? "" : fmt::format(", {} bytes", bytes)));
    }
    const std::string concluded = text(times, "concluded");
    line(concluded.empty() ? text(times, "at") : concluded, "outcome", outcome(predicate));
  }

  static std::string outcome(const bj::object& predicate) {
    const bj::object& found = child(predicate, "outcome");
    return fmt::format("{} ({})", text(found, "value"), text(found, "basis"));
  }
  static std::string event(const bj::object& predicate) {
    const bj::object& found = child(predicate, "event");
    const std::string by = text(found, "by");
    const std::string reason = text(found, "reason");
    return fmt::format(", {}{}{}", text(found, "action"), by.empty() ? "" : " by " + by,
                       reason.empty() ? "" : ": " + reason);
  }
  static std::string reasons(const bj::object& predicate) {
    std::string out;
    for (const bj::value& value : list(child(predicate, "decision"), "reasons")) {
      const auto* reason = value.if_object();
      if (reason == nullptr) continue;
      const std::string pointer = text(*reason, "pointer");
      out += fmt::format("{}{}{}", out.empty() ? "" : ", ", text(*reason, "code"),
                         pointer.empty() ? "" : " at " + pointer);
    }
    return out.empty() ? text(child(predicate, "approval"), "state") : out;
  }
  static std::string counted(const bj::object& predicate) {
    const std::string count = text(predicate, "count");
    return count.empty() ? "" : fmt::format(", {} times more", count);
  }

  std::string id_;
  bool received_ = false;
  std::vector<Line> lines_;
};

}  // namespace

std::string render_story(std::string_view json) {
  const auto root = parse_object(json);
  if (!root) return std::string(json) + "\n";
  bj::object head = *root;
  head.erase("receipts");
  Story story;
  for (const bj::value& value : list(*root, "receipts")) {
    if (const auto* row = value.if_object()) story.add(*row);
  }
  const std::string lines = story.take();
  return render_operation(bj::serialize(head)) + (lines.empty() ? "" : "\n" + lines);
}

}  // namespace sallyport::gateway::cli
