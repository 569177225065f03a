// The anchor: a place that the gateway cannot rewrite, to which each checkpoint goes (design section 6). A file, to
// which notes are only ever added, or a command, which gets the note on its standard input. On the loop.
#pragma once

#include <optional>
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

class Anchor {
 public:
  Anchor(AnchorSettings settings, asio::any_io_executor loop, Workers& workers)
      : settings_(std::move(settings)), loop_(std::move(loop)), workers_(workers) {}

  [[nodiscard]] bool none() const { return settings_.none(); }
  [[nodiscard]] const asio::any_io_executor& loop() const { return loop_; }
  // Errors: io, unavailable (the command failed), timeout; they name the file or the command.
  asio::awaitable<Status> add(std::string note);
  // The notes at its end, the newest last; empty: it holds none, or it cannot be asked.
  asio::awaitable<Result<std::string>> newest();

 private:
  asio::awaitable<Result<std::string>> run(std::vector<std::string> command, std::string input);

  AnchorSettings settings_;
  asio::any_io_executor loop_;
  Workers& workers_;
};

}  // namespace sallyport::gateway
