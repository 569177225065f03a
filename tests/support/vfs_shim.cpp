#include "tests/support/vfs_shim.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace sallyport::test {

// What a write or a truncation took away.
struct Undo {
  sqlite3_int64 offset = 0;
  std::string bytes;       // what stood there
  sqlite3_int64 size = 0;  // of the file before
};

struct VfsShim::State {
  std::string name;
  sqlite3_vfs* base = nullptr;
  sqlite3_vfs vfs{};
  mutable std::mutex mutex;
  std::uint64_t writes = 0, syncs = 0;
  std::uint64_t armed_at = 0;
  Fault armed = Fault::none;
  bool armed_sync = false;
  bool tripped = false, dead = false, filling = false;
  std::function<bool()> still_full;
  std::map<std::string, std::vector<Undo>> unsynced;

  // What becomes of this write or sync.
  Fault step(bool sync) {
    const std::uint64_t at = writes + syncs;
    (sync ? syncs : writes) += 1;
    if (dead) return Fault::io_error;
    if (filling && (!still_full || still_full())) return Fault::full;
    filling = false;
    if (armed_sync && sync) {
      armed_sync = false;
      tripped = true;
      return Fault::io_error;
    }
    if (armed == Fault::none || at != armed_at) return Fault::none;
    const Fault fault = std::exchange(armed, Fault::none);
    tripped = true;
    if (fault == Fault::kill) ::kill(::getpid(), SIGKILL);
    if (fault == Fault::cut) dead = true;
    if (fault == Fault::full) filling = true;
    return fault;
  }
};

namespace {

using State = VfsShim::State;
using Fault = VfsShim::Fault;

struct ShimFile {
  sqlite3_file base;
  State* state;
  std::string* path;  // null: a temporary file
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

ShimFile* shim(sqlite3_file* file) { return reinterpret_cast<ShimFile*>(file); }
sqlite3_file* real(sqlite3_file* file) { return shim(file)->real(); }

void remember(ShimFile* file, sqlite3_int64 offset, sqlite3_int64 amount) {
  if (file->path == nullptr) return;
  sqlite3_int64 size = 0;
  file->real()->pMethods->xFileSize(file->real(), &size);
  Undo undo{offset, {}, size};
  if (offset < size) {
    undo.bytes.resize(static_cast<std::size_t>(std::min(amount, size - offset)));
    file->real()->pMethods->xRead(file->real(), undo.bytes.data(), static_cast<int>(undo.bytes.size()), offset);
  }
  file->state->unsynced[*file->path].push_back(std::move(undo));
}

int shim_close(sqlite3_file* file) {
  const int code = real(file)->pMethods->xClose(real(file));
  delete shim(file)->path;
  return code;
}
int shim_read(sqlite3_file* file, void* into, int amount, sqlite3_int64 offset) {
  return real(file)->pMethods->xRead(real(file), into, amount, offset);
}
int shim_write(sqlite3_file* file, const void* bytes, int amount, sqlite3_int64 offset) {
  const std::scoped_lock lock(shim(file)->state->mutex);
  switch (shim(file)->state->step(false)) {
    case Fault::full:
      return SQLITE_FULL;
    case Fault::io_error:
      return SQLITE_IOERR_WRITE;
    case Fault::cut:
      remember(shim(file), offset, amount / 2);
      real(file)->pMethods->xWrite(real(file), bytes, amount / 2, offset);
      return SQLITE_IOERR_WRITE;
    case Fault::kill:
    case Fault::none:
      break;
  }
  remember(shim(file), offset, amount);
  return real(file)->pMethods->xWrite(real(file), bytes, amount, offset);
}
int shim_truncate(sqlite3_file* file, sqlite3_int64 size) {
  const std::scoped_lock lock(shim(file)->state->mutex);
  if (shim(file)->state->dead) return SQLITE_IOERR_TRUNCATE;
  sqlite3_int64 present = 0;
  real(file)->pMethods->xFileSize(real(file), &present);
  if (size < present) remember(shim(file), size, present - size);
  return real(file)->pMethods->xTruncate(real(file), size);
}
int shim_sync(sqlite3_file* file, int flags) {
  const std::scoped_lock lock(shim(file)->state->mutex);
  switch (shim(file)->state->step(true)) {
    case Fault::full:
      return SQLITE_FULL;
    case Fault::io_error:
    case Fault::cut:
      return SQLITE_IOERR_FSYNC;
    case Fault::kill:
    case Fault::none:
      break;
  }
  // Not really synced: the test's power is cut by undoing, so the disk's own time would only slow it down.
  (void)flags;
  if (shim(file)->path != nullptr) shim(file)->state->unsynced.erase(*shim(file)->path);
  return SQLITE_OK;
}
int shim_size(sqlite3_file* file, sqlite3_int64* size) { return real(file)->pMethods->xFileSize(real(file), size); }
int shim_lock(sqlite3_file* file, int kind) { return real(file)->pMethods->xLock(real(file), kind); }
int shim_unlock(sqlite3_file* file, int kind) { return real(file)->pMethods->xUnlock(real(file), kind); }
int shim_reserved(sqlite3_file* file, int* out) { return real(file)->pMethods->xCheckReservedLock(real(file), out); }
int shim_control(sqlite3_file* file, int op, void* arg) {
  return real(file)->pMethods->xFileControl(real(file), op, arg);
}
int shim_sector(sqlite3_file* file) { return real(file)->pMethods->xSectorSize(real(file)); }
int shim_traits(sqlite3_file* file) { return real(file)->pMethods->xDeviceCharacteristics(real(file)); }
int shim_shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
  return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
}
int shim_shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
void shim_shm_barrier(sqlite3_file* file) { real(file)->pMethods->xShmBarrier(real(file)); }
int shim_shm_unmap(sqlite3_file* file, int remove) { return real(file)->pMethods->xShmUnmap(real(file), remove); }

// Version 2: shared memory, but no memory-mapped reads, which would pass us by.
const sqlite3_io_methods kMethods{.iVersion = 2,
                                  .xClose = shim_close,
                                  .xRead = shim_read,
                                  .xWrite = shim_write,
                                  .xTruncate = shim_truncate,
                                  .xSync = shim_sync,
                                  .xFileSize = shim_size,
                                  .xLock = shim_lock,
                                  .xUnlock = shim_unlock,
                                  .xCheckReservedLock = shim_reserved,
                                  .xFileControl = shim_control,
                                  .xSectorSize = shim_sector,
                                  .xDeviceCharacteristics = shim_traits,
                                  .xShmMap = shim_shm_map,
                                  .xShmLock = shim_shm_lock,
                                  .xShmBarrier = shim_shm_barrier,
                                  .xShmUnmap = shim_shm_unmap,
                                  .xFetch = nullptr,
                                  .xUnfetch = nullptr};

State* state_of(sqlite3_vfs* vfs) { return static_cast<State*>(vfs->pAppData); }

int shim_open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out) {
  State* state = state_of(vfs);
  auto* opened = new (file) ShimFile{};
  opened->state = state;
  const int code = state->base->xOpen(state->base, name, opened->real(), flags, out);
  if (code != SQLITE_OK) return code;
  opened->path = name == nullptr ? nullptr : new std::string(name);
  opened->base.pMethods = &kMethods;
  return SQLITE_OK;
}
int shim_delete(sqlite3_vfs* vfs, const char* name, int sync) {
  State* state = state_of(vfs);
  const std::scoped_lock lock(state->mutex);
  if (state->dead) return SQLITE_IOERR_DELETE;
  state->unsynced.erase(name);
  return state->base->xDelete(state->base, name, sync);
}
int shim_access(sqlite3_vfs* vfs, const char* name, int flags, int* out) {
  return state_of(vfs)->base->xAccess(state_of(vfs)->base, name, flags, out);
}
int shim_full_path(sqlite3_vfs* vfs, const char* name, int size, char* out) {
  return state_of(vfs)->base->xFullPathname(state_of(vfs)->base, name, size, out);
}

}  // namespace

VfsShim::VfsShim(std::string name) : state_(std::make_unique<State>()) {
  state_->name = std::move(name);
  state_->base = sqlite3_vfs_find(nullptr);
  state_->vfs = *state_->base;  // what is not about files stays as it is
  state_->vfs.pNext = nullptr;
  state_->vfs.szOsFile = static_cast<int>(sizeof(ShimFile)) + state_->base->szOsFile;
  state_->vfs.zName = state_->name.c_str();
  state_->vfs.pAppData = state_.get();
  state_->vfs.xOpen = shim_open;
  state_->vfs.xDelete = shim_delete;
  state_->vfs.xAccess = shim_access;
  state_->vfs.xFullPathname = shim_full_path;
  if (sqlite3_vfs_register(&state_->vfs, 0) != SQLITE_OK) std::abort();
}

VfsShim::~VfsShim() { sqlite3_vfs_unregister(&state_->vfs); }

const std::string& VfsShim::name() const { return state_->name; }

std::uint64_t VfsShim::writes() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->writes;
}
std::uint64_t VfsShim::syncs() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->syncs;
}
std::uint64_t VfsShim::steps() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->writes + state_->syncs;
}

void VfsShim::fail_at(std::uint64_t step, Fault fault) {
  const std::scoped_lock lock(state_->mutex);
  state_->armed_at = state_->writes + state_->syncs + step;
  state_->armed = fault;
  state_->tripped = false;
}

void VfsShim::fail_next_sync() {
  const std::scoped_lock lock(state_->mutex);
  state_->armed_sync = true;
  state_->tripped = false;
}

void VfsShim::still_full(std::function<bool()> full) {
  const std::scoped_lock lock(state_->mutex);
  state_->still_full = std::move(full);
}

bool VfsShim::tripped() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->tripped;
}

void VfsShim::lose_unsynced(const std::function<bool(std::uint64_t)>& keep) {
  const std::scoped_lock lock(state_->mutex);
  std::uint64_t number = 0;
  for (auto& [path, undos] : state_->unsynced) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd < 0) continue;
    for (auto undo = undos.rbegin(); undo != undos.rend(); ++undo) {
      if (keep && keep(number++)) continue;
      if (::pwrite(fd, undo->bytes.data(), undo->bytes.size(), undo->offset) < 0) std::abort();
      struct stat info{};
      // With some writes kept, the file may be longer than it was before this one; then its end is left as it is.
      if (!keep && ::fstat(fd, &info) == 0 && info.st_size > undo->size && ::ftruncate(fd, undo->size) != 0)
        std::abort();
    }
    ::close(fd);
    ::unlink((path + "-shm").c_str());  // memory, not disk
  }
  state_->unsynced.clear();
}

}  // namespace sallyport::test
