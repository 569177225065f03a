// The load generator: calls one tool at several targets in turns, so that all see the same machine, and prints what
// each took.
//   load --tool NAME --connections N --rounds N --calls N TARGET…      N calls per target and round
//   TARGET: name=PORT/PATH[,tool prefix[,token file]]
// One JSON object on stdout: per target the calls, calls/s, p50 and p99 in microseconds, and what went wrong.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/bench/connection.hpp"

namespace sallyport::bench {

namespace {

using Clock = std::chrono::steady_clock;

struct Target {
  std::string name, path, prefix, token, session;
  std::uint16_t port = 0;
  std::vector<std::unique_ptr<Connection>> connections;
  std::vector<double> micros;
  double seconds = 0;
  std::size_t wrong = 0;
  std::string first_wrong;
};

struct Plan {
  std::string tool = "look";
  std::size_t connections = 1, rounds = 10, calls = 500;
  std::vector<Target> targets;
};

std::string request(const Target& target, std::string_view body) {
  std::string out = fmt::format(
      "POST {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\nAccept: application/json, "
      "text/event-stream\r\n",
      target.path, target.port);
  if (!target.token.empty()) out += "Authorization: Bearer " + target.token + "\r\n";
  if (!target.session.empty()) out += "Mcp-Session-Id: " + target.session + "\r\nMCP-Protocol-Version: 2025-11-25\r\n";
  out += fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
  return out;
}

std::string call(const Target& target, const Plan& plan, std::uint64_t number) {
  // Different each time: equal calls in flight would be one operation.
  return request(
      target,
      fmt::format(
          R"({{"jsonrpc":"2.0","id":{0},"method":"tools/call","params":{{"name":"{1}{2}","arguments":)"
          R"({{"text":"call {0} of the benchmark, about as long as a short path or sentence","number":{0},"tags":["a","c"]}}}}}})",
          number, target.prefix, plan.tool));
}

void connect(Target& target, std::size_t count) {
  while (target.connections.size() < count) {
    target.connections.push_back(std::make_unique<Connection>("127.0.0.1", target.port));
  }
  Connection& first = *target.connections.front();
  first.send(request(target,
                     R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",)"
                     R"("capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})"));
  first.receive_all();
  if (first.status() != 200) throw std::runtime_error(target.name + " refused: " + std::string(first.answer()));
  target.session = first.header("mcp-session-id");
  first.send(request(target, R"({"jsonrpc":"2.0","method":"notifications/initialized"})"));
  first.receive_all();
}

void judge(Target& target, const Connection& connection) {
  if (connection.status() == 200 && connection.body().find("\"isError\":true") == std::string_view::npos &&
      connection.body().find("\"result\"") != std::string_view::npos) {
    return;
  }
  if (target.wrong++ == 0) target.first_wrong = connection.answer();
}

// `calls` of them on `connections` at once; the next one of a connection goes out when its last one is answered.
void run_round(Target& target, const Plan& plan, std::size_t calls, std::uint64_t& number, bool keep) {
  std::vector<Clock::time_point> sent(plan.connections);
  std::vector<pollfd> waiting(plan.connections);
  std::size_t out = 0, done = 0;
  const Clock::time_point begin = Clock::now();
  const auto send = [&](std::size_t at) {
    const std::string bytes = call(target, plan, ++number);
    ++out;
    sent[at] = Clock::now();
    target.connections[at]->send(bytes);
  };
  for (std::size_t at = 0; at < plan.connections; ++at) {
    waiting[at] = {target.connections[at]->descriptor(), POLLIN, 0};
    if (out < calls) send(at);
  }
  while (done < calls) {
    if (::poll(waiting.data(), waiting.size(), 30'000) == 0)
      throw std::runtime_error(target.name + " answers nothing for 30 s");
    for (std::size_t at = 0; at < plan.connections; ++at) {
      if ((waiting[at].revents & (POLLIN | POLLHUP)) == 0 || !target.connections[at]->receive()) continue;
      const Clock::time_point now = Clock::now();
      ++done;
      if (keep) target.micros.push_back(std::chrono::duration<double, std::micro>(now - sent[at]).count());
      judge(target, *target.connections[at]);
      if (out < calls) send(at);
    }
  }
  if (keep) target.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
}

double percentile(std::vector<double>& sorted, double part) {
  if (sorted.empty()) return 0;
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(part * static_cast<double>(sorted.size())))];
}

Target parse_target(const std::string& word) {
  Target target;
  const std::size_t equals = word.find('='), slash = word.find('/');
  if (equals == std::string::npos || slash == std::string::npos || slash < equals)
    throw std::runtime_error("no target: " + word);
  target.name = word.substr(0, equals);
  target.port = static_cast<std::uint16_t>(std::stoul(word.substr(equals + 1, slash - equals - 1)));
  const std::size_t comma = word.find(','), second = comma == std::string::npos ? comma : word.find(',', comma + 1);
  target.path = word.substr(slash, comma - slash);
  if (comma != std::string::npos) target.prefix = word.substr(comma + 1, second - comma - 1);
  if (second != std::string::npos) {
    std::ifstream file(word.substr(second + 1));
    if (!std::getline(file, target.token)) throw std::runtime_error("no token in " + word.substr(second + 1));
  }
  return target;
}

Plan parse(int argc, char** argv) {
  Plan plan;
  for (int at = 1; at < argc; ++at) {
    const std::string word = argv[at];
    if (!word.starts_with("--")) {
      plan.targets.push_back(parse_target(word));
      continue;
    }
    if (at + 1 == argc) throw std::runtime_error("no value: " + word);
    const std::string value = argv[++at];
    if (word == "--tool") {
      plan.tool = value;
    } else if (word == "--connections" || word == "--rounds" || word == "--calls") {
      (word == "--connections" ? plan.connections : word == "--rounds" ? plan.rounds : plan.calls) = std::stoul(value);
    } else {
      throw std::runtime_error("unknown: " + word);
    }
  }
  if (plan.targets.empty() || plan.connections == 0) throw std::runtime_error("nothing to do");
  return plan;
}

int run(int argc, char** argv) {
  Plan plan = parse(argc, argv);
  std::uint64_t number = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) %
                         1'000'000'000U * 1'000'000U;
  for (Target& target : plan.targets) connect(target, plan.connections);
  if (plan.rounds > 1) {
    for (Target& target : plan.targets)
      run_round(target, plan, std::max<std::size_t>(plan.calls / 5, plan.connections), number, false);
  }
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    for (Target& target : plan.targets) run_round(target, plan, plan.calls, number, true);
  }
  std::size_t wrong = 0;
  std::string out;
  for (Target& target : plan.targets) {
    std::ranges::sort(target.micros);
    wrong += target.wrong;
    if (target.wrong > 0)
      std::fprintf(stderr, "load: %s: %zu wrong answers, the first: %s\n", target.name.c_str(), target.wrong,
                   target.first_wrong.c_str());
    out += fmt::format(R"({}"{}":{{"calls":{},"perSecond":{:.0f},"p50us":{:.1f},"p99us":{:.1f},"wrong":{}}})",
                       out.empty() ? "" : ",", target.name, target.micros.size(),
                       static_cast<double>(target.micros.size()) / target.seconds, percentile(target.micros, 0.5),
                       percentile(target.micros, 0.99), target.wrong);
  }
  std::printf("{%s}\n", out.c_str());
  return wrong == 0 ? 0 : 1;
}

}  // namespace

}  // namespace sallyport::bench

int main(int argc, char** argv) {
  try {
    return sallyport::bench::run(argc, argv);
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "load: %s\n", wrong.what());
    return 2;
  }
}
