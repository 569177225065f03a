// Terminal: where a command reads and writes. Results go to `out`, everything else to `err`; both take text that is
// already safe to show (visible()). Tests put strings in their place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "schemas/core/time.hpp"

namespace sallyport::gateway::cli {

// Exit codes of every command (design section 10).
inline constexpr int kYes = 0;
inline constexpr int kNo = 1;
inline constexpr int kCouldNot = 2;

class Terminal {
 public:
  virtual ~Terminal() = default;
  virtual void out(std::string_view text) = 0;
  virtual void err(std::string_view text) = 0;
  // Something of `out` could not be written (a full disk, a closed pipe): the command has not done its work.
  [[nodiscard]] virtual bool broken() const { return false; }
  // Somebody sits there: input is a terminal, and so is `err`.
  [[nodiscard]] virtual bool interactive() const = 0;
  // Without the line's end; nullopt: no more input. `secret`: not echoed, where it is a terminal.
  virtual std::optional<std::string> read_line(bool secret = false) = 0;
  // One key, without waiting for the line's end where it is a terminal; 0: none came in time; nullopt: no more input.
  // Ctrl-C still ends the program.
  virtual std::optional<char> read_key(Millis wait) = 0;
  // What was typed before somebody could read what is asked now answers nothing.
  virtual void forget_typed() {}
  // All that is left of the input, `limit` bytes at most; nullopt: there is more, or it cannot be read.
  virtual std::optional<std::string> read_all(std::size_t limit) = 0;
};

// Standard input, output and error of this process.
Terminal& system_terminal();

// Prints `sallyport: {message}` and, where there is one, what to do on a line of its own. Returns kCouldNot.
int complain(Terminal& terminal, std::string_view message, std::string_view remedy = {});
// Asks `{question} [y/N] `; false without a clear yes.
bool confirm(Terminal& terminal, std::string_view question);

}  // namespace sallyport::gateway::cli
