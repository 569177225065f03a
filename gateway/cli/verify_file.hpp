// `receipts verify`: streams a log through trust::Verifier, lines judged on all cores, in order (design section 6).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gateway/cli/command_line.hpp"
#include "gateway/cli/terminal.hpp"
#include "trust/receipts/verify.hpp"

namespace sallyport::gateway::cli {

// Lines in, a report out. Memory: a batch of lines at a time. One thread calls it.
class VerifyRun {
 public:
  explicit VerifyRun(trust::VerifyOptions options, unsigned threads = 0);  // 0: as many as there are cores
  ~VerifyRun();
  void line(std::string text);  // without its newline, in order of the log
  void flush();                 // judges what has gathered
  [[nodiscard]] trust::VerifyReport finish();
  // Prints the report. kYes: no fault; kNo: faults.
  int finish(Terminal& terminal, bool json);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Keys (PEM, several in a file if wanted; or C2SP verifier keys for checkpoints) and checkpoints (one or more signed
// notes in a file) that the invocation names. Errors name the file.
[[nodiscard]] Result<trust::VerifyOptions> verify_options(const Invocation& invocation);

// Invocation::proof_file: a receipt's envelope in the first line, its tlog-proof in the rest.
[[nodiscard]] int verify_proof(const Invocation& invocation, Terminal& terminal);

// Invocation::file, `-` for standard input (descriptor 0). kCouldNot: it cannot be read, or a key is missing.
[[nodiscard]] int verify_file(const Invocation& invocation, Terminal& terminal);

}  // namespace sallyport::gateway::cli
