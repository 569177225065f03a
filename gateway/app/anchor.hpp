// The anchor: a place that the gateway cannot rewrite, to which each checkpoint goes (design section 6). A file, to
// which notes are only ever added, or a command, which gets the note on its standard input. On the loop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateway/base/workers.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway {

struct AnchorSettings {
  std::string file;                  // absolute; at most one of the two
  std::vector<std::string> command;  // argv
  std::vector<std::string> newest;  // of a command: prints the newest note that the place holds; empty: cannot be asked
  [[nodiscard]] bool none() const { return file.empty() && command.empty(); }
};

// What an anchor holds of one log.
struct AnchorView {
  bool asked = false;      // false: there is none, or it cannot be asked
  std::string note;        // the one over the most entries; empty: none
  std::uint64_t end = 0;   // of a file: its size
  std::size_t others = 0;  // notes of other logs, and torn ones
};

// As Anchor::look() of a file, without a loop; blocks.
[[nodiscard]] Result<AnchorView> look_in_anchor(const std::string& path, std::string origin, std::uint64_t from);

class Anchor {
 public:
  Anchor(AnchorSettings settings, asio::any_io_executor loop, Workers& workers)
      : settings_(std::move(settings)), loop_(std::move(loop)), workers_(workers) {}

  [[nodiscard]] bool none() const { return settings_.none(); }
  [[nodiscard]] const asio::any_io_executor& loop() const { return loop_; }
  // Errors: io, unavailable (the command failed), timeout; they name the file or the command.
  asio::awaitable<Status> add(std::string note);
  // Looks through all notes of that origin, in whatever order they stand: whoever may add to the anchor must not be
  // able to hide the newest behind others. `from`: of a file, where to begin; ignored if it is not that long. A file
  // that is not there holds nothing. invalid: a command printed too much.
  asio::awaitable<Result<AnchorView>> look(std::string origin, std::uint64_t from);
  // Names the place; another place has another name.
  [[nodiscard]] std::string place() const;

 private:
  asio::awaitable<Result<std::string>> run(std::vector<std::string> command, std::string input);

  AnchorSettings settings_;
  asio::any_io_executor loop_;
  Workers& workers_;
};

}  // namespace sallyport::gateway
