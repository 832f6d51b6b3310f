#include "base/input_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#ifdef L0GM_HAS_ZLIB
#include <zlib.h>
#endif
#ifdef L0GM_HAS_LZMA
#include <lzma.h>
#endif
#ifdef L0GM_HAS_ZSTD
#include <zstd.h>
#endif

#include "base/progress.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr size_t input_size = size_t{1} << 17;
constexpr off_t long_file = 8 << 20;  // bytes from which on reading shows how far it is
// Limits on the dictionary that a compressed file may request (bytes, log2 of bytes): above usual settings, below a machine's
// memory.
[[maybe_unused]] constexpr uint64_t memory_limit = uint64_t{1} << 30;
[[maybe_unused]] constexpr int window_log_limit = 30;

// The bytes of the file as stored, in pieces; bytes not consumed are returned again by the next peek().
class RawFile {
 public:
  explicit RawFile(const std::filesystem::path& path)
      : path_(path.string()), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), buffer_(input_size) {
    if (descriptor_ < 0) throw UserError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
    struct stat status{};
    const bool regular = ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode);
    if (regular && status.st_size >= long_file) {
      progress_.emplace(path.filename().string(), status.st_size, ProgressUnit{"bytes"});
    }
  }
  ~RawFile() { ::close(descriptor_); }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  // At least `wanted` bytes unless the file ends before.
  std::string_view peek(size_t wanted) {
    while (end_ - begin_ < wanted && !ended_) {
      if (begin_ > 0) {
        std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
        end_ -= begin_;
        begin_ = 0;
      }
      const size_t count = read_directly({buffer_.data() + end_, buffer_.size() - end_});
      end_ += count;
      ended_ = count == 0;
    }
    return {buffer_.data() + begin_, end_ - begin_};
  }
  void consume(size_t count) { begin_ += count; }

  size_t read_directly(std::span<char> to) {
    while (true) {
      const ssize_t count = ::read(descriptor_, to.data(), to.size());
      if (count >= 0) {
        read_ += count;
        if (progress_) progress_->update(read_);
        return static_cast<size_t>(count);
      }
      if (errno != EINTR) throw UserError(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
    }
  }

  [[noreturn]] void fail_cut_off(std::string_view format) const {
    throw UserError(fmt::format("'{}' ends in the middle of its {} data: it is cut off or damaged", path_, format));
  }
  [[noreturn]] void fail_damaged(std::string_view format, std::string_view reason) const {
    throw UserError(fmt::format("'{}' holds damaged {} data: {}", path_, format, reason));
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  bool ended_ = false;
  int64_t read_ = 0;
  std::optional<Progress> progress_;  // whoever reads, in whatever format: files are what takes long
};

class PlainStream : public InputStream {
 public:
  explicit PlainStream(std::unique_ptr<RawFile> file) : file_(std::move(file)) {}
  size_t read(std::span<char> buffer) override {
    if (buffer.empty()) return 0;
    const std::string_view held = file_->peek(0);
    if (held.empty()) return file_->read_directly(buffer);
    const size_t count = std::min(held.size(), buffer.size());
    std::memcpy(buffer.data(), held.data(), count);
    file_->consume(count);
    return count;
  }

 private:
  std::unique_ptr<RawFile> file_;
};

#ifdef L0GM_HAS_ZLIB
class GzipStream : public InputStream {
 public:
  explicit GzipStream(std::unique_ptr<RawFile> file) : file_(std::move(file)) {
    if (inflateInit2(&state_, 15 + 16) != Z_OK) throw std::runtime_error("zlib could not be started");
  }
  ~GzipStream() override { inflateEnd(&state_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  size_t read(std::span<char> buffer) override {
    if (buffer.empty()) return 0;
    const size_t room = std::min(buffer.size(), size_t{1} << 30);
    state_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    state_.avail_out = static_cast<uInt>(room);
    while (state_.avail_out == room) {
      if (between_members_ && !start_member()) return 0;
      const std::string_view input = file_->peek(1);
      state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
      state_.avail_in = static_cast<uInt>(input.size());
      const int result = inflate(&state_, Z_NO_FLUSH);
      file_->consume(input.size() - state_.avail_in);
      if (result == Z_STREAM_END) {
        between_members_ = true;
      } else if (result == Z_BUF_ERROR && input.empty()) {
        file_->fail_cut_off("gzip");
      } else if (result == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (result != Z_OK) {
        file_->fail_damaged("gzip", state_.msg != nullptr ? state_.msg : "it cannot be decompressed");
      }
    }
    return room - state_.avail_out;
  }

 private:
  // False at the end of the file. Another member may follow, but nothing else.
  bool start_member() {
    const std::string_view next = file_->peek(2);
    if (next.empty()) return false;
    if (!next.starts_with("\x1f\x8b")) file_->fail_damaged("gzip", "something else follows its end");
    inflateReset(&state_);
    between_members_ = false;
    return true;
  }

  std::unique_ptr<RawFile> file_;
  z_stream state_{};
  bool between_members_ = false;
};
#endif

#ifdef L0GM_HAS_LZMA
class XzStream : public InputStream {
 public:
  explicit XzStream(std::unique_ptr<RawFile> file) : file_(std::move(file)) {
    if (lzma_stream_decoder(&state_, memory_limit, LZMA_CONCATENATED) != LZMA_OK) {
      throw std::runtime_error("liblzma could not be started");
    }
  }
  ~XzStream() override { lzma_end(&state_); }
  XzStream(const XzStream&) = delete;
  XzStream& operator=(const XzStream&) = delete;

  size_t read(std::span<char> buffer) override {
    if (buffer.empty() || finished_) return 0;
    state_.next_out = reinterpret_cast<uint8_t*>(buffer.data());
    state_.avail_out = buffer.size();
    while (state_.avail_out == buffer.size() && !finished_) {
      const std::string_view input = file_->peek(1);
      state_.next_in = reinterpret_cast<const uint8_t*>(input.data());
      state_.avail_in = input.size();
      const lzma_ret result = lzma_code(&state_, input.empty() ? LZMA_FINISH : LZMA_RUN);
      file_->consume(input.size() - state_.avail_in);
      finished_ = result == LZMA_STREAM_END;
      if (result != LZMA_OK && result != LZMA_STREAM_END) fail(result);
    }
    return buffer.size() - state_.avail_out;
  }

 private:
  [[noreturn]] void fail(lzma_ret result) const {
    if (result == LZMA_BUF_ERROR) file_->fail_cut_off("xz");
    if (result == LZMA_MEM_ERROR) throw std::bad_alloc();
    if (result == LZMA_MEMLIMIT_ERROR) file_->fail_damaged("xz", "it asks for more than 1 GiB of memory");
    if (result == LZMA_FORMAT_ERROR) file_->fail_damaged("xz", "something else follows its end");
    file_->fail_damaged("xz", "it cannot be decompressed");
  }

  std::unique_ptr<RawFile> file_;
  lzma_stream state_ = LZMA_STREAM_INIT;
  bool finished_ = false;
};
#endif

#ifdef L0GM_HAS_ZSTD
class ZstdStream : public InputStream {
 public:
  explicit ZstdStream(std::unique_ptr<RawFile> file) : file_(std::move(file)), state_(ZSTD_createDStream()) {
    if (state_ == nullptr) throw std::bad_alloc();
    ZSTD_DCtx_setParameter(state_, ZSTD_d_windowLogMax, window_log_limit);
  }
  ~ZstdStream() override { ZSTD_freeDStream(state_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  size_t read(std::span<char> buffer) override {
    if (buffer.empty()) return 0;
    ZSTD_outBuffer output{buffer.data(), buffer.size(), 0};
    while (output.pos == 0) {
      const std::string_view held = file_->peek(1);
      if (held.empty() && between_frames_) return 0;
      ZSTD_inBuffer input{held.data(), held.size(), 0};
      const size_t result = ZSTD_decompressStream(state_, &output, &input);
      if (ZSTD_isError(result) != 0) file_->fail_damaged("zstd", ZSTD_getErrorName(result));
      file_->consume(input.pos);
      between_frames_ = result == 0;
      if (held.empty() && output.pos == 0 && !between_frames_) file_->fail_cut_off("zstd");
    }
    return output.pos;
  }

 private:
  std::unique_ptr<RawFile> file_;
  ZSTD_DStream* state_;
  bool between_frames_ = false;
};
#endif

[[noreturn, maybe_unused]] void fail_not_built_in(const RawFile& file, std::string_view format) {
  throw UserError(
      fmt::format("'{}' is compressed with {}, which this build of l0gm cannot read; decompress it first", file.path(), format));
}

constexpr std::string_view xz_magic("\xFD\x37\x7A\x58\x5A\0", 6);

bool starts_zstd_frame(std::string_view magic) {
  if (magic.size() < 4) return false;
  // A data frame, or a skippable one (its first byte is 0x50 … 0x5f).
  return magic.starts_with("\x28\xb5\x2f\xfd") || ((magic[0] & 0xf0) == 0x50 && magic.substr(1, 3) == "\x2a\x4d\x18");
}

}  // namespace

std::unique_ptr<InputStream> InputStream::open(const std::filesystem::path& path) {
  auto file = std::make_unique<RawFile>(path);
  const std::string_view magic = file->peek(6);
  if (magic.starts_with("\x1f\x8b")) {
#ifdef L0GM_HAS_ZLIB
    return std::make_unique<GzipStream>(std::move(file));
#else
    fail_not_built_in(*file, "gzip");
#endif
  }
  if (magic.starts_with(xz_magic)) {
#ifdef L0GM_HAS_LZMA
    return std::make_unique<XzStream>(std::move(file));
#else
    fail_not_built_in(*file, "xz");
#endif
  }
  if (starts_zstd_frame(magic)) {
#ifdef L0GM_HAS_ZSTD
    return std::make_unique<ZstdStream>(std::move(file));
#else
    fail_not_built_in(*file, "zstd");
#endif
  }
  return std::make_unique<PlainStream>(std::move(file));
}

}  // namespace l0gm
