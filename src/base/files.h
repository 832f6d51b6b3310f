#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace l0gm {

// Whole file as bytes. A file that is missing or unreadable is a UserError that names it.
std::string read_file(const std::filesystem::path& path);

// Temporary file in the same folder, fsync, rename, fsync of the folder: a reader sees the old file or the new one,
// never a part of it, and a crash leaves no half-written file under the final name.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

// Appends and waits until it is on the disk (fsync), the name of a new file as well: what is written after the return, for
// example a checkpoint, may count on it.
void append_to_file(const std::filesystem::path& path, std::string_view bytes);

// The same as write_file_atomically() for a file that is written in pieces. Nothing appears under `path` unless commit() was
// called.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();  // removes the temporary file unless committed
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  void write(std::string_view bytes);  // buffered
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// An advisory lock on a file (flock); released by the destructor and when the process ends.
class FileLock {
 public:
  // nullptr when another process holds it.
  static std::unique_ptr<FileLock> try_take(const std::filesystem::path& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  int descriptor() const { return descriptor_; }  // for a child process that shall hold the lock as well

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

// A read-only memory map of a whole file.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::string_view bytes() const { return {data_, size_}; }

 private:
  const char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace l0gm
