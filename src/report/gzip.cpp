#include "report/gzip.h"

#ifdef L0GM_HAS_ZLIB
#include <zlib.h>

#include <new>
#include <stdexcept>

namespace l0gm {

std::optional<std::string> gzip(std::string_view bytes) {
  constexpr int gzip_window = 15 + 16, memory = 9;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, memory, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("zlib did not finish");
  return out;
}

}  // namespace l0gm
#else
namespace l0gm {
std::optional<std::string> gzip(std::string_view) { return std::nullopt; }
}  // namespace l0gm
#endif
