// Files that people and the machine write (design section 4): bounded reads, who else may write them, whole writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/core/result.hpp"

namespace sallyport::gateway {

inline constexpr std::size_t kMaxOwnFileBytes = 16U << 20;  // of a file that people write
inline constexpr std::size_t kMaxLockBytes = 256U << 20;    // trust.lock.json holds whole definitions

// What loading asks of the file system; tests answer from memory.
class FileReader {
 public:
  struct Text {
    std::string bytes;
    // Why somebody else than this user or root could change the file, in words that follow its name; empty: nobody can.
    std::string others_may_write;
  };
  enum class Kind : std::uint8_t { missing, file, folder };

  virtual ~FileReader() = default;
  // not_found, limit (larger than max_bytes), io. Only regular files are read, links are followed.
  [[nodiscard]] virtual Result<Text> read(const std::string& path, std::size_t max_bytes) const = 0;
  [[nodiscard]] virtual Kind kind(const std::string& path) const = 0;
  // Names of the entries, sorted, without `.` and `..`.
  [[nodiscard]] virtual Result<std::vector<std::string>> list(const std::string& folder) const = 0;
};

// The real one. Any thread; blocks.
class SystemFiles : public FileReader {
 public:
  [[nodiscard]] Result<Text> read(const std::string& path, std::size_t max_bytes) const override;
  [[nodiscard]] Kind kind(const std::string& path) const override;
  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& folder) const override;
};

// Writes a whole file or nothing: a file beside it, fsync, rename, fsync of the folder. A link at `path` is written
// through, so that whoever keeps the file elsewhere keeps it there. `mode`: 0600 for secrets, 0644 for what others may
// read.
[[nodiscard]] Status atomic_write(const std::string& path, std::string_view text, unsigned mode);

// Lexical: `path` as seen from the folder `base`, without `.`, `..` and double slashes.
[[nodiscard]] std::string resolve_path(std::string_view base, std::string_view path);
[[nodiscard]] std::string folder_of(std::string_view path);

}  // namespace sallyport::gateway
