// `lint`: the tools of a file, of a server that is started, or of one behind a URL.
#include <fmt/format.h>

#include <boost/json.hpp>

#include <algorithm>
#include <filesystem>

#include "gateway/app/lint.hpp"
#include "gateway/app/lint_call.hpp"
#include "gateway/app/local_commands.hpp"
#include "gateway/app/probe.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/config/variables.hpp"
#include "gateway/config/wrap.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace bj = boost::json;

namespace {

constexpr std::size_t kMostBytes = 64U << 20;
constexpr auto kWait = std::chrono::seconds(60);

struct Report {
  LintFindings findings;
  std::string file;  // empty: a server; then places mean nothing
  std::size_t tools = 0, called = 0;

  void add(LintFindings more) {
    for (auto& finding : more) findings.push_back(std::move(finding));
  }
};

bool is_url(std::string_view text) { return text.starts_with("http://") || text.starts_with("https://"); }

// A tools/list result, alone or in its JSON-RPC answer, an array of tools, or one tool.
Result<std::vector<json::Value>> tools_in(json::Value root) {
  std::vector<json::Value> out;
  json::Value list = root.at("/result/tools");
  if (!list) list = root.find("tools");
  if (!list && root.is_array()) list = root;
  if (!list && root.is_object() && root.find("name")) return std::vector<json::Value>{root};
  if (!list || !list.is_array())
    return fail(ErrorCode::invalid, "there are no tools in it: neither `tools`, nor a list of them, nor one tool");
  for (const json::Value tool : list.elements()) out.push_back(tool);
  return out;
}

Result<Report> lint_file(const std::string& name, cli::Terminal& terminal) {
  std::string text;
  if (name == "-") {
    auto read = terminal.read_all(kMostBytes);
    if (!read) return fail(ErrorCode::limit, fmt::format("the input is no text of at most {} bytes", kMostBytes));
    text = std::move(*read);
  } else {
    auto read = SystemFiles().read(std::filesystem::absolute(name).string(), kMostBytes);
    if (!read) return fail(read.error());
    text = std::move(read->bytes);
  }
  auto document = json::Document::parse(std::move(text), {.bytes = kMostBytes, .depth = 1'000});
  if (!document) return fail_in(name, document.error());
  auto tools = tools_in(document->root());
  if (!tools) return fail_in(name, tools.error());
  Report report;
  report.file = name == "-" ? "standard input" : name;
  report.tools = tools->size();
  report.add(lint_tools(*tools));
  return report;
}

Result<LoadedConfig> config_of(const cli::Invocation& invocation) {
  SettingsRequest request;
  std::error_code ec;
  const std::string folder = std::filesystem::current_path(ec).string();
  request.base = ec ? "/" : folder;
  request.state = request.default_state = request.base;  // nothing is written there
  request.text = invocation.words.empty() ? fmt::format(R"({{"mcpServers":{{"server":{{"type":"http","url":{}}}}}}})",
                                                        quote(literal_text(invocation.file)))
                                          : wrap_config(invocation.words, request.base);
  LoadedConfig config = load_config(request, process_environment(), SystemFiles());
  if (config.settings && config.book) return config;
  return fail(ErrorCode::invalid, to_text(config.faults.front()));
}

// Lists three times: at first, again, and of another connection, which for a command is another process.
asio::awaitable<Result<Report>> lint_server(const cli::Invocation& invocation, std::string id,
                                            catalogue::Catalogue& catalogue, Servers& servers) {
  const Deadline deadline = Deadline::after(kWait);
  const auto listed = [&](std::string principal, Report& report) -> asio::awaitable<Result<ToolListing>> {
    LinkKey key{id, std::move(principal), {}};
    auto link = co_await servers.link(std::move(key), deadline);
    if (!link) co_return fail(link.error());
    if (report.findings.empty()) report.add(lint_text((*link)->info().instructions, "the server's instructions"));
    auto tools = co_await (*link)->list_tools(deadline);
    co_return tools;
  };
  Report report, ignored;
  const auto first = co_await listed("gateway", report);
  if (!first) co_return fail(first.error());
  report.tools = first->tools.size();
  report.add(lint_tools(first->tools));
  const auto again = co_await listed("gateway", ignored);
  if (!again) co_return fail_in("when listed again", again.error());
  auto unstable = lint_stability(first->tools, again->tools, "when the list is asked for again");
  if (unstable.empty()) {
    const auto other = co_await listed("lint", ignored);
    if (!other) co_return fail_in("on a second connection", other.error());
    unstable = lint_stability(first->tools, other->tools, "on a second connection");
  }
  const bool stable = unstable.empty();
  report.add(std::move(unstable));
  if (!invocation.call_tools || !stable) co_return report;
  std::vector<json::Value> callable;
  std::ranges::copy_if(first->tools, std::back_inserter(callable), lint_callable);
  auto calls = co_await lint_calls(catalogue, servers, id, std::move(callable));
  if (!calls) co_return fail_in("--call", calls.error());
  report.called = calls->called;
  report.add(std::move(calls->findings));
  co_return report;
}

Result<Report> lint_running(const cli::Invocation& invocation) {
  auto config = config_of(invocation);
  if (!config) return fail(config.error());
  const std::string id = config->settings->servers.begin()->first;
  Result<Report> out = fail(ErrorCode::internal, "the server was not asked");
  visit(*config->settings, rules_of(*config->book),
        [&](catalogue::Catalogue& catalogue, Servers& servers) -> asio::awaitable<void> {
          out = co_await lint_server(invocation, id, catalogue, servers);
        });
  return out;
}

std::string place(const Report& report, const LintFinding& finding) {
  if (report.file.empty()) return {};
  return fmt::format("{}:{}:{}: ", visible(report.file), finding.position.line, finding.position.column);
}

std::string_view word(LintFinding::Level level) { return level == LintFinding::Level::error ? "error" : "warning"; }

void print(const Report& report, std::size_t errors, bool json_wanted, cli::Terminal& terminal) {
  const std::size_t warnings = report.findings.size() - errors;
  if (!json_wanted) {
    std::string text;
    for (const LintFinding& finding : report.findings) {
      text +=
          fmt::format("{}{}: {}{}{}{} [{}]\n", place(report, finding), word(finding.level), visible(finding.tool),
                      finding.tool.empty() ? "" : ": ", visible(finding.message),
                      finding.pointer.empty() ? "" : fmt::format(" (at {})", visible(finding.pointer)), finding.code);
    }
    terminal.out(text + fmt::format("{} tools{}: {} errors, {} warnings\n", report.tools,
                                    report.called == 0 ? "" : fmt::format(", {} called", report.called), errors,
                                    warnings));
    return;
  }
  bj::array findings;
  for (const LintFinding& finding : report.findings) {
    bj::object one{{"code", finding.code}, {"level", word(finding.level)}, {"message", visible(finding.message)}};
    if (!finding.tool.empty()) one["tool"] = visible(finding.tool);
    if (!finding.pointer.empty()) one["pointer"] = visible(finding.pointer);
    if (!report.file.empty()) {
      one["line"] = finding.position.line;
      one["column"] = finding.position.column;
    }
    findings.emplace_back(std::move(one));
  }
  terminal.out(json::canonical(bj::value(bj::object{{"called", report.called},
                                                    {"errors", errors},
                                                    {"findings", std::move(findings)},
                                                    {"tools", report.tools},
                                                    {"warnings", warnings}})) +
               "\n");
}

}  // namespace

int lint_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  const bool file = invocation.words.empty() && !is_url(invocation.file);
  if (file && invocation.call_tools) return cli::complain(terminal, "--call needs a server: a file cannot be called");
  auto report = file ? lint_file(invocation.file, terminal) : lint_running(invocation);
  if (!report) return cli::complain(terminal, visible(report.error().message));
  const auto errors =
      static_cast<std::size_t>(std::ranges::count(report->findings, LintFinding::Level::error, &LintFinding::level));
  print(*report, errors, invocation.json, terminal);
  return errors > 0 || (invocation.strict && !report->findings.empty()) ? cli::kNo : cli::kYes;
}

}  // namespace sallyport::gateway
