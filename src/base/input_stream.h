#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace l0gm {

// Bytes of a file, decompressed on the fly: plain, gzip, xz or zstd, recognised by the first bytes of the file, not by its name.
// Concatenated members are read through. A damaged or cut-off file is a UserError that names file and reason.
// Formats whose library is missing from the build (L0GM_HAS_ZLIB, L0GM_HAS_LZMA, L0GM_HAS_ZSTD) are a UserError that
// says so.
class InputStream {
 public:
  static std::unique_ptr<InputStream> open(const std::filesystem::path& path);
  virtual ~InputStream() = default;
  virtual size_t read(std::span<char> buffer) = 0;  // 0 at the end; may return less than asked for
};

}  // namespace l0gm
