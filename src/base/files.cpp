#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

// A file descriptor, closed by the destructor.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

// A wrong path or missing permissions are user errors; a failing disk is not.
bool is_user_error(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EISDIR:
    case EACCES:
    case EPERM:
    case EROFS:
    case ENAMETOOLONG:
    case ELOOP:
    case EEXIST:
    case ENOTEMPTY:
    case ETXTBSY:
      return true;
    default:
      return false;
  }
}

[[noreturn]] void fail_to_write(const fs::path& path, int error) {
  std::string reason = std::strerror(error);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code ignored;
  if (error == ENOENT && !fs::exists(folder, ignored)) {
    reason = fmt::format("the folder '{}' does not exist; create it first", folder.string());
  }
  const std::string message = fmt::format("cannot write '{}': {}", path.string(), reason);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    throw DiskFull(message + ". Make room, or write elsewhere; what was there before is as it was.");
  }
  if (is_user_error(error)) throw UserError(message);
  throw std::runtime_error(message);
}

[[noreturn]] void fail_to_read(const fs::path& path, int error) {
  throw UserError(fmt::format("cannot read '{}': {}", path.string(), std::strerror(error)));
}

int open_to_read(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_to_read(path, errno);
  return descriptor;
}

struct stat status_of(const Descriptor& descriptor, const fs::path& path) {
  struct stat status{};
  if (::fstat(descriptor.get(), &status) != 0) fail_to_read(path, errno);
  if (S_ISDIR(status.st_mode)) fail_to_read(path, EISDIR);
  return status;
}

// After a crash the new name itself must be on the disk. Some file systems cannot sync a folder (EINVAL): ignored.
void sync_folder(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() >= 0 && ::fsync(descriptor.get()) != 0 && errno == EIO) fail_to_write(path, EIO);
}

void write_all(const Descriptor& descriptor, const fs::path& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_to_write(path, errno);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace

std::string read_file(const fs::path& path) {
  const Descriptor descriptor(open_to_read(path));
  const struct stat status = status_of(descriptor, path);
  // Pipes and files such as /proc/… report no size, so read until it returns 0.
  std::string bytes(static_cast<size_t>(std::max<off_t>(status.st_size, 0)) + 1, '\0');
  size_t filled = 0;
  while (true) {
    if (filled == bytes.size()) bytes.resize(std::max<size_t>(2 * bytes.size(), 65536));
    const ssize_t count = ::read(descriptor.get(), bytes.data() + filled, bytes.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_to_read(path, errno);
    if (count == 0) break;
    filled += static_cast<size_t>(count);
  }
  bytes.resize(filled);
  return bytes;
}

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void append_to_file(const fs::path& path, std::string_view bytes) {
  const Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (descriptor.get() < 0) fail_to_write(path, errno);
  struct stat before{};
  const bool is_new = ::fstat(descriptor.get(), &before) != 0 || before.st_size == 0;
  write_all(descriptor, path, bytes);
  if (::fsync(descriptor.get()) != 0) fail_to_write(path, errno);
  if (is_new) sync_folder(path);
}

struct AtomicFile::State {
  static constexpr size_t buffer_size = size_t{1} << 18;
  fs::path path, temporary;
  Descriptor descriptor{-1};
  std::string buffer;
  bool committed = false;

  State(fs::path final_path, fs::path temporary_path, int opened)
      : path(std::move(final_path)), temporary(std::move(temporary_path)), descriptor(opened) {}

  void put(std::string_view bytes) { write_all(descriptor, path, bytes); }
};

AtomicFile::AtomicFile(fs::path path) {
  if (!path.has_filename()) throw UserError(fmt::format("cannot write '{}': the path has no file name", path.string()));
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (fs::is_directory(status)) fail_to_write(path, EISDIR);
  // A rename would replace a device or a pipe by a plain file.
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw UserError(fmt::format("cannot write '{}': it is not a regular file; name another one", path.string()));
  }
  static std::atomic<uint64_t> counter{0};  // two threads may write the same file
  int descriptor = -1;
  fs::path temporary;
  do {
    temporary = path.parent_path() / fmt::format(".l0gm-{}-{}.tmp", ::getpid(), counter++);
    descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor < 0 && (errno == EEXIST || errno == EINTR));
  if (descriptor < 0) fail_to_write(path, errno);
  state_ = std::make_unique<State>(std::move(path), std::move(temporary), descriptor);
}

AtomicFile::~AtomicFile() {
  if (!state_->committed) ::unlink(state_->temporary.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  if (state_->committed) throw std::logic_error("AtomicFile::write after commit");
  if (state_->buffer.size() + bytes.size() < State::buffer_size) {
    state_->buffer.append(bytes);
    return;
  }
  state_->put(state_->buffer);
  state_->buffer.clear();
  if (bytes.size() < State::buffer_size) {
    state_->buffer.append(bytes);
  } else {
    state_->put(bytes);
  }
}

void AtomicFile::commit() {
  if (state_->committed) throw std::logic_error("AtomicFile::commit called twice");
  state_->put(state_->buffer);
  state_->buffer.clear();
  if (::fsync(state_->descriptor.get()) != 0) fail_to_write(state_->path, errno);
  if (::close(state_->descriptor.release()) != 0) fail_to_write(state_->path, errno);
  if (::rename(state_->temporary.c_str(), state_->path.c_str()) != 0) fail_to_write(state_->path, errno);
  state_->committed = true;
  sync_folder(state_->path);
}

std::unique_ptr<FileLock> FileLock::try_take(const fs::path& path) {
  Descriptor descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (descriptor.get() < 0) fail_to_write(path, errno);
  while (::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return nullptr;
    if (errno != EINTR) fail_to_write(path, errno);
  }
  std::unique_ptr<FileLock> lock(new FileLock(descriptor.get()));
  descriptor.release();
  return lock;
}

FileLock::~FileLock() { ::close(descriptor_); }

MappedFile::MappedFile(const fs::path& path) {
  const Descriptor descriptor(open_to_read(path));
  const struct stat status = status_of(descriptor, path);
  if (!S_ISREG(status.st_mode)) throw UserError(fmt::format("cannot read '{}': it is not a regular file", path.string()));
  size_ = static_cast<size_t>(status.st_size);
  if (size_ == 0) return;  // mmap fails for size 0
  void* memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor.get(), 0);
  if (memory == MAP_FAILED) fail_to_read(path, errno);
  data_ = static_cast<const char*>(memory);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

}  // namespace l0gm
