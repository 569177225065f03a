// export-worker: an MCP server over stdio that queues exports, and breaks in the ways that its flags order.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <iostream>
#include <string>
#include <string_view>

#include "faults.hpp"
#include "tools.hpp"
#include "worker.hpp"

namespace export_worker {

namespace {

constexpr std::string_view kUsage =
    R"(usage: export-worker --state FILE [FAULT…]
  --lose-answer TOOL[:N]    does it and never answers (N: the first N calls; without it, every one)
  --repeat-answer TOOL[:N]  does it and answers twice
  --error TOOL[:N]          does nothing and answers with isError
  --error-after TOOL[:N]    does it and answers with isError
  --transient TOOL[:N]      does nothing and answers with the JSON-RPC error -32050
  --crash TOOL[:N]          does it and ends without an answer
  --crash-before TOOL[:N]   ends without doing it
  --delay TOOL:MS           does it at once and answers later
  --blind-lookup            lookup_export finds nothing
)";

// TOOL, TOOL:N.
bool split(std::string_view word, std::string& tool, int& number) {
  const std::size_t colon = word.find(':');
  tool = word.substr(0, colon);
  if (!is_tool(tool)) return false;
  if (colon == std::string_view::npos) return true;
  const std::string_view digits = word.substr(colon + 1);
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return wrong == std::errc() && end == digits.data() + digits.size() && number >= 0;
}

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

int wait_for(std::optional<Worker::Time> due) {
  if (!due) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// Until the client closes its end.
int serve(Worker& worker, const bool& gone) {
  std::string pending;
  char bytes[16384];
  while (!gone) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = ::poll(&input, 1, wait_for(worker.next_due()));
    if (ready < 0 && errno != EINTR) return 1;
    worker.write_due(std::chrono::steady_clock::now());
    if (ready <= 0) continue;
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count == 0) return 0;
    if (count < 0) {
      if (errno == EINTR) continue;
      return 1;
    }
    pending.append(bytes, static_cast<std::size_t>(count));
    std::size_t begin = 0;
    for (std::size_t end = pending.find('\n'); end != std::string::npos; end = pending.find('\n', begin)) {
      worker.read(std::string_view(pending).substr(begin, end - begin), std::chrono::steady_clock::now());
      begin = end + 1;
    }
    pending.erase(0, begin);
  }
  return 0;
}

}  // namespace

bool parse_flags(int argc, char** argv, Faults& faults, std::string& state, std::string& wrong) {
  const std::map<std::string_view, std::map<std::string, int>*> counted = {
      {"--lose-answer", &faults.lose_answer},  {"--repeat-answer", &faults.repeat_answer}, {"--error", &faults.error},
      {"--error-after", &faults.error_after},  {"--transient", &faults.transient},         {"--crash", &faults.crash},
      {"--crash-before", &faults.crash_before}};
  for (int at = 1; at < argc; ++at) {
    const std::string_view flag = argv[at];
    wrong = flag;
    if (flag == "--blind-lookup") {
      faults.blind_lookup = true;
      continue;
    }
    if (at + 1 == argc) return false;
    const std::string_view value = argv[++at];
    wrong += " " + std::string(value);
    std::string tool;
    int number = kEvery;
    if (flag == "--state") {
      state = value;
    } else if (const auto found = counted.find(flag); found != counted.end() && split(value, tool, number)) {
      (*found->second)[tool] = number;
    } else if (flag == "--delay" && split(value, tool, number) && number != kEvery) {
      faults.delay[tool] = std::chrono::milliseconds(number);
    } else {
      return false;
    }
  }
  wrong = "--state";
  return !state.empty();
}

}  // namespace export_worker

int main(int argc, char** argv) {
  using namespace export_worker;
  Faults faults;
  std::string state, wrong;
  if (!parse_flags(argc, argv, faults, state, wrong)) {
    std::cerr << "export-worker: missing, unknown or wrong: " << wrong << "\n" << kUsage;
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  bool gone = false;
  Worker worker(std::move(faults), state, [&](std::string_view line) { gone = gone || !write_all(line); });
  return serve(worker, gone);
}
