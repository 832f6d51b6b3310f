#include "base/input_stream.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <string>
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

#include "base/random.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

#ifdef L0GM_HAS_ZLIB
std::string gzip(const std::string& bytes) {
  z_stream state{};
  deflateInit2(&state, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&state, bytes.size()) + 64, '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  state.avail_in = static_cast<uInt>(bytes.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}
#endif

#ifdef L0GM_HAS_LZMA
std::string xz(const std::string& bytes) {
  std::string out(lzma_stream_buffer_bound(bytes.size()), '\0');
  size_t size = 0;
  EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                    reinterpret_cast<uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}
#endif

#ifdef L0GM_HAS_ZSTD
std::string zstd(const std::string& bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  out.resize(ZSTD_compress2(context, out.data(), out.size(), bytes.data(), bytes.size()));
  ZSTD_freeCCtx(context);
  return out;
}
#endif

// Repeats itself a little, so that it is compressed but stays long enough for several input buffers.
std::string sample(size_t size) {
  RandomStream random(11);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>('a' + random.below(20));
  return bytes;
}

std::string path_of_this_test() {
  std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  for (char& c : name) c = c == '/' ? '_' : c;
  return testing::TempDir() + "l0gm_input_" + std::to_string(::getpid()) + "_" + name;
}

// The file's contents read in pieces of `piece` bytes, or "UserError: …".
std::string read_back(const std::string& stored, size_t piece = 10007) {
  const std::string path = path_of_this_test();
  std::ofstream(path, std::ios::binary) << stored;
  std::string result;
  try {
    const auto stream = InputStream::open(path);
    std::string buffer(piece, '\0');
    while (const size_t count = stream->read(buffer)) result.append(buffer, 0, count);
    EXPECT_EQ(stream->read(buffer), 0U) << "the end stays the end";
  } catch (const UserError& error) {
    result = std::string("UserError: ") + error.what();
  }
  std::remove(path.c_str());
  return result;
}

struct Format {
  std::string name;
  std::function<std::string(const std::string&)> compress;
};

class CompressedInput : public testing::TestWithParam<Format> {
 protected:
  std::string compress(const std::string& bytes) const { return GetParam().compress(bytes); }
};

TEST_P(CompressedInput, ReadsWhatWasWritten) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{700000}}) {
    const std::string bytes = sample(size);
    EXPECT_TRUE(read_back(compress(bytes)) == bytes) << size;
    EXPECT_TRUE(read_back(compress(bytes), size_t{1} << 20) == bytes) << size;
  }
  EXPECT_EQ(read_back(compress("one byte at a time"), 1), "one byte at a time");
  const std::string zeros(5000000, '\0');
  EXPECT_TRUE(read_back(compress(zeros)) == zeros) << "little input, much output";
}

TEST_P(CompressedInput, ReadsConcatenatedMembers) {
  EXPECT_EQ(read_back(compress("one,") + compress("") + compress("two,") + compress("three")), "one,two,three");
  const std::string bytes = sample(300000);
  EXPECT_TRUE(read_back(compress(bytes) + compress(bytes)) == bytes + bytes);
}

TEST_P(CompressedInput, CutOffAnywhereIsAnError) {
  const std::string stored = compress(sample(2000));
  const std::string expected =
      "UserError: '" + path_of_this_test() + "' ends in the middle of its " + GetParam().name + " data: it is cut off or damaged";
  for (size_t size = 6; size < stored.size(); ++size) ASSERT_EQ(read_back(stored.substr(0, size)), expected) << size;
  const std::string second = read_back(stored + stored.substr(0, stored.size() / 2));
  EXPECT_EQ(second, expected);
}

TEST_P(CompressedInput, SomethingElseAfterTheEndIsAnError) {
  const std::string prefix = "UserError: '" + path_of_this_test() + "' holds damaged " + GetParam().name + " data: ";
  const std::string result = read_back(compress("data") + "this is not compressed at all");
  EXPECT_TRUE(result.starts_with(prefix)) << result;
  EXPECT_TRUE(read_back(compress("data") + "x").starts_with("UserError: ")) << "a single byte";
}

// Checksums are on in all three: a flip is either an error or, in a field that carries no data, harmless.
TEST_P(CompressedInput, FlippedBitsNeverGiveWrongData) {
  const std::string bytes = sample(3000), stored = compress(bytes);
  RandomStream random(12);
  int errors = 0;
  for (int i = 0; i < 1000; ++i) {
    std::string damaged = stored;
    const size_t at = 6 + random.below(stored.size() - 6);
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.below(8)));
    const std::string result = read_back(damaged);
    const bool error = result.starts_with("UserError: ");
    ASSERT_TRUE(error || result == bytes) << "byte " << at;
    errors += error ? 1 : 0;
  }
  EXPECT_GT(errors, 900);
}

std::vector<Format> formats() {
  std::vector<Format> all;
#ifdef L0GM_HAS_ZLIB
  all.push_back({"gzip", gzip});
#endif
#ifdef L0GM_HAS_LZMA
  all.push_back({"xz", xz});
#endif
#ifdef L0GM_HAS_ZSTD
  all.push_back({"zstd", zstd});
#endif
  return all;
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CompressedInput);
INSTANTIATE_TEST_SUITE_P(Formats, CompressedInput, testing::ValuesIn(formats()),
                         [](const testing::TestParamInfo<Format>& format) { return format.param.name; });

TEST(PlainInput, AnythingElseIsReadAsItIs) {
  for (const std::string& bytes : {std::string(), std::string("a"), std::string("\x1f"),
                                   std::string("\xfd"
                                               "7z"),
                                   std::string("a\0b", 3)}) {
    EXPECT_EQ(read_back(bytes), bytes);
    EXPECT_EQ(read_back(bytes, 1), bytes);
  }
  const std::string bytes = sample(500000);
  EXPECT_TRUE(read_back(bytes) == bytes);
  EXPECT_TRUE(read_back(bytes, size_t{1} << 20) == bytes);
}

TEST(PlainInput, MissingFileAndFolder) {
  const std::string path = path_of_this_test();
  try {
    InputStream::open(path);
    FAIL() << "it is not there";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), "cannot read '" + path + "': No such file or directory");
  }
  EXPECT_THROW(InputStream::open(testing::TempDir()), UserError);
}

// A format is read, here only its first bytes and so cut off, or refused by name.
TEST(CompressedInputWithoutTheRest, IsCutOffOrNotBuiltIn) {
  const std::string path = path_of_this_test();
  const auto expected = [&](const std::string& format, bool built_in) {
    if (built_in) return "UserError: '" + path + "' ends in the middle of its " + format + " data: it is cut off or damaged";
    return "UserError: '" + path + "' is compressed with " + format +
           ", which this build of l0gm cannot read; decompress it first";
  };
  bool zlib = false, lzma = false, zstandard = false;
#ifdef L0GM_HAS_ZLIB
  zlib = true;
#endif
#ifdef L0GM_HAS_LZMA
  lzma = true;
#endif
#ifdef L0GM_HAS_ZSTD
  zstandard = true;
#endif
  EXPECT_EQ(read_back("\x1f\x8b"), expected("gzip", zlib));
  EXPECT_EQ(read_back(std::string("\xFD\x37\x7A\x58\x5A\0", 6)), expected("xz", lzma));
  EXPECT_EQ(read_back("\x28\xb5\x2f\xfd"), expected("zstd", zstandard));
  EXPECT_EQ(read_back("\x5f\x2a\x4d\x18"), expected("zstd", zstandard)) << "a skippable frame";
}

}  // namespace
}  // namespace l0gm
