#include "gateway/storage/state_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <iterator>
#include <utility>

#include "gateway/storage/files.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kKeyBytes = 32;
constexpr std::string_view kLockFile = "lock";
constexpr std::string_view kReceiptKey = "receipts.key";
constexpr std::string_view kNextReceiptKey = "receipts.key.next";
constexpr std::string_view kCheckpointKey = "checkpoint.key";
constexpr std::string_view kNextCheckpointKey = "checkpoint.key.next";
constexpr std::string_view kStoreKey = "store.key";
constexpr std::string_view kFingerprintKey = "fingerprint.key";

std::string join(const std::string& folder, std::string_view name) { return fmt::format("{}/{}", folder, name); }

// Each missing folder on the way is made for this user alone.
Status make_folder(const std::string& path) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (!part.empty() && ::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      return fail_errno("cannot create the state folder", part);
    }
    if (slash == std::string::npos) return {};
  }
}

Status check_folder(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return fail_errno("cannot open the state folder", path);
  if (!S_ISDIR(info.st_mode)) return fail(ErrorCode::invalid, fmt::format("the state folder `{}` is no folder", path));
  if (info.st_uid != ::geteuid()) {
    return fail(ErrorCode::forbidden,
                fmt::format("the state folder `{}` belongs to another user (uid {})", path, info.st_uid));
  }
  if ((info.st_mode & 077) != 0) {
    return fail(ErrorCode::forbidden,
                fmt::format("others can look into the state folder `{}` (mode {:o}): `chmod 700` it", path,
                            static_cast<unsigned>(info.st_mode) & 07777U));
  }
  struct statfs system{};
  if (::statfs(path.c_str(), &system) != 0) return fail_errno("cannot look at the file system of", path);
  if (is_network_file_system(static_cast<long>(system.f_type))) {
    return fail(ErrorCode::unsupported,
                fmt::format("the state folder `{}` is on a network file system, where locks and syncs cannot be relied "
                            "on: move it to a local disk",
                            path));
  }
  return {};
}

struct flock whole_file(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

StateOwner parse_owner(int fd) {
  std::array<char, 4096> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  StateOwner owner;
  if (got <= 0) return owner;
  const std::string_view line(text.data(), static_cast<std::size_t>(got));
  const std::size_t space = line.find(' ');
  const std::string_view number = line.substr(0, space);
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), owner.pid);
  if (parsed.ec != std::errc()) owner.pid = 0;
  if (space != std::string_view::npos) {
    std::string_view command = line.substr(space + 1);
    owner.command = visible(command.substr(0, command.find('\n')));
  }
  return owner;
}

Result<int> take_lock(const std::string& path, std::string_view command) {
  const std::string name = join(path, kLockFile);
  FileHandle file(::open(name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return fail_errno("cannot open", name);
  // A lock of this open file: closing another descriptor of it does not drop it, and asking for it does not take it.
  struct flock lock = whole_file(F_WRLCK);
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES) return fail_errno("cannot lock", name);
    const StateOwner owner = parse_owner(file.get());
    if (owner.pid == 0) return fail(ErrorCode::conflict, fmt::format("the state folder `{}` is in use", path));
    return fail(ErrorCode::conflict,
                fmt::format("the state folder `{}` is in use by process {} (`{}`)", path, owner.pid, owner.command));
  }
  const std::string text = fmt::format("{} {}\n", ::getpid(), visible(command));
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), text.data(), text.size(), 0) < 0) {
    return fail_errno("cannot write", name);
  }
  return file.release();
}

Result<Secret> random_hex(Entropy& entropy) {
  std::array<std::uint8_t, kKeyBytes> bytes{};
  entropy.fill(bytes);
  std::string raw(bytes.begin(), bytes.end());
  Secret text(to_hex(raw) + "\n");
  trust::wipe(bytes.data(), bytes.size());
  trust::wipe(raw.data(), raw.size());
  return text;
}

Result<Secret> random_pem(Entropy& entropy) {
  trust::Seed seed{};
  entropy.fill(seed);
  Result<trust::SigningKey> key = trust::SigningKey::from_seed(seed);
  trust::wipe(seed.data(), seed.size());
  if (!key) return fail(key.error());
  return key->pem();
}

Status make_key(const std::string& path, std::string_view name, Result<Secret> (*make)(Entropy&), Entropy& entropy) {
  const std::string file = join(path, name);
  if (file_exists(file)) return {};
  if (file_exists(join(path, kStoreFile))) {
    return fail(ErrorCode::corrupt, fmt::format("`{}` is gone, and the store beside it was made with it: restore the "
                                                "key, or begin with an empty state folder",
                                                file));
  }
  const Result<Secret> key = make(entropy);
  if (!key) return fail(key.error());
  return write_file(file, key->reveal(), 0600);
}

Result<Secret> read_hex_key(const std::string& file) {
  const Result<Secret> text = read_private_file(file);
  if (!text) return fail(text.error());
  std::string_view hex = text->reveal();
  if (hex.ends_with('\n')) hex.remove_suffix(1);
  std::optional<std::string> bytes = from_hex(hex);
  if (!bytes || bytes->size() != kKeyBytes) {
    return fail(ErrorCode::corrupt, fmt::format("`{}` does not hold {} hex digits", file, 2 * kKeyBytes));
  }
  return Secret(std::move(*bytes));
}

Result<Secret> read_pem_key(const std::string& file) {
  Result<Secret> pem = read_private_file(file);
  if (!pem) return pem;
  const Result<trust::SigningKey> key = trust::SigningKey::from_pem(*pem);
  if (!key) return fail_in(fmt::format("`{}`", file), key.error());
  return pem;
}

// For auditors; made again if it is not (or no longer) what belongs to the key.
Status export_public(const std::string& path, std::string_view name, const Secret& pem) {
  const Result<trust::SigningKey> key = trust::SigningKey::from_pem(pem);
  if (!key) return fail(key.error());
  const std::string file = join(path, name);
  const std::string text = key->public_key().pem();
  std::ifstream present(file, std::ios::binary);
  if (present && std::string(std::istreambuf_iterator<char>(present), {}) == text) return {};
  return write_file(file, text, 0644);
}

}  // namespace

bool is_network_file_system(long magic) {
  switch (static_cast<unsigned long>(magic) & 0xffffffffUL) {
    case 0x6969:      // NFS
    case 0x517b:      // SMB
    case 0xff534d42:  // CIFS
    case 0xfe534d42:  // SMB2
    case 0x5346414f:  // OpenAFS
    case 0x6b414653:  // kAFS
    case 0x73757245:  // Coda
    case 0x564c:      // NCP
    case 0x01021997:  // 9P
    case 0x00c36400:  // Ceph
    case 0x0bd00bd0:  // Lustre
    case 0x01161970:  // GFS2
    case 0x7461636f:  // OCFS2
    case 0x47504653:  // GPFS
    case 0x65735546:  // FUSE: what stands behind it cannot be told, and most of it is remote
      return true;
    default:
      return false;
  }
}

Result<StateFolder> StateFolder::own(const std::string& path, std::string_view command, Entropy& entropy) {
  if (path.empty()) return fail(ErrorCode::invalid, "the state folder has no name");
  if (Status made = make_folder(path); !made) return fail(made.error());
  if (Status fit = check_folder(path); !fit) return fail(fit.error());
  const Result<int> lock = take_lock(path, command);
  if (!lock) return fail(lock.error());
  StateFolder folder(path, *lock);
  const std::array<std::pair<std::string_view, Result<Secret> (*)(Entropy&)>, 4> keys{{{kReceiptKey, random_pem},
                                                                                       {kCheckpointKey, random_pem},
                                                                                       {kStoreKey, random_hex},
                                                                                       {kFingerprintKey, random_hex}}};
  for (const auto& [name, make] : keys) {
    if (Status made = make_key(path, name, make, entropy); !made) return fail(made.error());
  }
  if (Status loaded = folder.load_keys(); !loaded) return fail(loaded.error());
  if (Status out = export_public(path, "receipts.pub", folder.receipt_pem_); !out) return fail(out.error());
  if (Status out = export_public(path, "checkpoint.pub", folder.checkpoint_pem_); !out) return fail(out.error());
  return folder;
}

Result<StateFolder> StateFolder::look(const std::string& path) {
  if (Status fit = check_folder(path); !fit) return fail(fit.error());
  StateFolder folder(path, -1);
  if (Status loaded = folder.load_keys(); !loaded) return fail(loaded.error());
  return folder;
}

std::optional<StateOwner> StateFolder::owner(const std::string& path) {
  const FileHandle file(::open(join(path, kLockFile).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file.valid()) return std::nullopt;
  struct flock lock = whole_file(F_RDLCK);
  if (::fcntl(file.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return parse_owner(file.get());
}

Status StateFolder::load_keys() {
  const std::array<std::pair<std::string_view, Secret*>, 2> pems{
      {{kReceiptKey, &receipt_pem_}, {kCheckpointKey, &checkpoint_pem_}}};
  for (const auto& [name, into] : pems) {
    Result<Secret> pem = read_pem_key(file(name));
    if (!pem) return fail(pem.error());
    *into = std::move(*pem);
  }
  const std::array<std::pair<std::string_view, Secret*>, 2> raw{
      {{kStoreKey, &store_key_}, {kFingerprintKey, &fingerprint_key_}}};
  for (const auto& [name, into] : raw) {
    Result<Secret> key = read_hex_key(file(name));
    if (!key) return fail(key.error());
    *into = std::move(*key);
  }
  return {};
}

StateFolder::StateFolder(StateFolder&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::exchange(other.lock_, -1)),
      receipt_pem_(std::move(other.receipt_pem_)),
      checkpoint_pem_(std::move(other.checkpoint_pem_)),
      store_key_(std::move(other.store_key_)),
      fingerprint_key_(std::move(other.fingerprint_key_)) {}

StateFolder::~StateFolder() {
  if (lock_ < 0) return;
  // Nobody is named as the owner any more; a failure here only leaves a stale name behind.
  if (::ftruncate(lock_, 0) != 0) errno = 0;
  ::close(lock_);
}

Result<trust::SigningKey> StateFolder::next_key(std::string_view name, Entropy& entropy) const {
  const std::string next = file(name);
  if (!file_exists(next)) {
    const Result<Secret> made = random_pem(entropy);
    if (!made) return fail(made.error());
    if (Status written = write_file(next, made->reveal(), 0600); !written) return fail(written.error());
  }
  const Result<Secret> pem = read_pem_key(next);
  if (!pem) return fail(pem.error());
  return trust::SigningKey::from_pem(*pem);
}

Status StateFolder::take_next_key(std::string_view next, std::string_view name, std::string_view public_name,
                                  Secret& into) {
  const std::string from = file(next);
  Result<Secret> pem = read_pem_key(from);
  if (!pem) return fail(pem.error());
  if (::rename(from.c_str(), file(name).c_str()) != 0) return fail_errno("cannot rename", from);
  if (Status synced = sync_folder(path_); !synced) return synced;
  into = std::move(*pem);
  return export_public(path_, public_name, into);
}

Result<trust::SigningKey> StateFolder::next_receipt_key(Entropy& entropy) const {
  return next_key(kNextReceiptKey, entropy);
}

Status StateFolder::take_next_receipt_key() {
  return take_next_key(kNextReceiptKey, kReceiptKey, "receipts.pub", receipt_pem_);
}

Result<trust::SigningKey> StateFolder::next_checkpoint_key(Entropy& entropy) const {
  return next_key(kNextCheckpointKey, entropy);
}

Status StateFolder::take_next_checkpoint_key() {
  return take_next_key(kNextCheckpointKey, kCheckpointKey, "checkpoint.pub", checkpoint_pem_);
}

std::string StateFolder::file(std::string_view name) const { return join(path_, name); }

Result<trust::SigningKey> StateFolder::receipt_key() const { return trust::SigningKey::from_pem(receipt_pem_); }
Result<trust::SigningKey> StateFolder::checkpoint_key() const { return trust::SigningKey::from_pem(checkpoint_pem_); }

}  // namespace sallyport::gateway
