// What verify found, for people and for programs.
#include <fmt/format.h>

#include <array>

#include "schemas/core/encoding.hpp"
#include "schemas/core/writer.hpp"
#include "trust/receipts/verify.hpp"

namespace sallyport::trust {
namespace {

constexpr std::array<std::string_view, 14> kKinds{"bad-form",
                                                  "bad-signature",
                                                  "unknown-key",
                                                  "wrong-log",
                                                  "gap",
                                                  "duplicate",
                                                  "fork",
                                                  "wrong-prev",
                                                  "checkpoint-mismatch",
                                                  "shorter-than-checkpoint",
                                                  "intent-without-outcome",
                                                  "approval-spent-twice",
                                                  "tail-not-anchored",
                                                  "pruned"};

std::string place(const Finding& finding) {
  std::string out = finding.line == 0 ? "log" : fmt::format("line {}", finding.line);
  if (finding.seq) out += fmt::format(" (seq {})", *finding.seq);
  return out;
}

}  // namespace

std::string_view to_string(FindingKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

bool is_fault(FindingKind kind) {
  return kind != FindingKind::intent_without_outcome && kind != FindingKind::tail_not_anchored &&
         kind != FindingKind::pruned;
}

std::string to_text(const VerifyReport& report) {
  std::string out;
  for (const auto& finding : report.findings) {
    out += fmt::format("{}: {}: {}{}{}{}\n", place(finding), is_fault(finding.kind) ? "error" : "note",
                       to_string(finding.kind), finding.subject.empty() ? "" : " ", visible(finding.subject),
                       ": " + visible(finding.message));
  }
  if (report.more_findings > 0) out += fmt::format("and {} further findings\n", report.more_findings);
  if (report.first_seq) {
    out += fmt::format("log {}: {} entries, seq {} to {}, head {}\n", visible(report.log), report.entries,
                       *report.first_seq, *report.last_seq, report.head);
  } else {
    out += "the log has no entries\n";
  }
  if (report.anchored) out += fmt::format("anchored: the first {} entries\n", *report.anchored);
  out += report.ok() ? "ok\n" : fmt::format("{} faults\n", report.faults);
  return out;
}

std::string to_json(const VerifyReport& report) {
  json::Writer out(1024);
  out.begin_object();
  if (report.anchored) out.member("anchored", *report.anchored);
  out.member("entries", report.entries);
  out.member("faults", report.faults);
  out.key("findings").begin_array();
  for (const auto& finding : report.findings) {
    out.begin_object();
    out.member("fault", is_fault(finding.kind));
    out.member("kind", to_string(finding.kind));
    if (finding.line != 0) out.member("line", finding.line);
    out.member("message", finding.message);
    if (finding.seq) out.member("seq", *finding.seq);
    out.text("subject", finding.subject);
    out.end_object();
  }
  out.end_array();
  if (report.first_seq) out.member("firstSeq", *report.first_seq);
  out.text("head", report.head);
  if (report.last_seq) out.member("lastSeq", *report.last_seq);
  out.text("log", report.log);
  if (report.more_findings > 0) out.member("moreFindings", report.more_findings);
  out.member("ok", report.ok());
  out.text("root", report.root);
  return out.end_object().take() + "\n";
}

}  // namespace sallyport::trust
