#include <gtest/gtest.h>

#ifdef L0GM_HAS_ZLIB
#include <zlib.h>
#endif

#include "data/graph/archive_tools.h"
#include "data/graph/npy.h"
#include "data/graph/npz.h"
#include "data/graph/zip.h"
#include "l0gm/error.h"
#include "support/allocated_bytes.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

// Two nodes, an edge, and whatever a test adds.
Files two_nodes() {
  return {{"adj_data.npy", npy_of("<f4", "(1,)", bytes_of<float>({1}))},
          {"adj_indices.npy", npy_of("<i4", "(1,)", bytes_of<int32_t>({1}))},
          {"adj_indptr.npy", npy_of("<i4", "(3,)", bytes_of<int32_t>({0, 1, 1}))},
          {"adj_shape.npy", npy_of("<i8", "(2,)", bytes_of<int64_t>({2, 2}))},
          {"labels.npy", npy_of("<i8", "(2,)", bytes_of<int64_t>({0, 1}))}};
}

Files with(Files files, const Files& more) {
  files.insert(files.end(), more.begin(), more.end());
  return files;
}

struct Reading {
  std::string message;  // of the refusal; empty where the file was read
  int64_t bytes = 0;    // allocated meanwhile
};

template <class Action>
Reading watched(const Action& action) {
  Reading reading;
  const int64_t before = allocated_bytes();
  try {
    action();
  } catch (const UserError& error) {
    reading.message = error.what();
  }
  reading.bytes = allocated_bytes() - before;
  ::testing::Test::RecordProperty("allocated", std::to_string(reading.bytes));
  return reading;
}

Reading reading_of(const Files& files) {
  const TemporaryFolder folder;
  const auto path = folder.write("a.npz", zip_of(files));
  return watched([&] { read_npz(path, true); });
}

void expect_refused(const Reading& reading, const std::string& part, int64_t most_bytes) {
  EXPECT_NE(reading.message.find(part), std::string::npos) << reading.message;
  EXPECT_LT(reading.bytes, most_bytes);
}

// An array of objects, pickled as numpy does: one text of `length` characters, `count` times.
std::string repeated_text(size_t length, int64_t count) {
  const auto text = [](const std::string& content) { return "X" + little(content.size(), 4) + content; };
  const std::string shape = "J" + little(static_cast<uint64_t>(count), 4) + "\x85";
  std::string pickle = "\x80\x02" + std::string("cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK") + '\0' + "\x85" +
                       "C\1b\x87R(K\1" + shape + "cnumpy\ndtype\n" + text("O8") + "K" + '\0' + "K\1\x87R(K\3" + text("|") +
                       "NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb\x89](" + text(std::string(length, 'x')) + "q" + '\0';
  for (int64_t i = 1; i < count; ++i) pickle += std::string("h\0", 2);
  return npy_of("|O", "(" + std::to_string(count) + ",)", pickle + "etb.");
}

TEST(HostileNpz, OneTextNamedManyTimes) {
  const Files attributes = {{"attr_matrix.npy", npy_of("<f4", "(2, 1)", bytes_of<float>({5, 6}))}};
  const Files few = with(two_nodes(), with(attributes, {{"node_names.npy", repeated_text(100, 2)}}));
  EXPECT_EQ(reading_of(few).message, "");
  const Files many = with(two_nodes(), with(attributes, {{"node_names.npy", repeated_text(4096, 250000)}}));
  expect_refused(reading_of(many), "repeats texts to more than", int64_t{1} << 26);
}

TEST(HostileNpz, ColumnsWithoutEntries) {
  const auto sparse = [](int64_t columns) {
    return with(two_nodes(), {{"attr_data.npy", npy_of("<f4", "(1,)", bytes_of<float>({1}))},
                              {"attr_indices.npy", npy_of("<i4", "(1,)", bytes_of<int32_t>({3}))},
                              {"attr_indptr.npy", npy_of("<i4", "(3,)", bytes_of<int32_t>({0, 1, 1}))},
                              {"attr_shape.npy", npy_of("<i8", "(2,)", bytes_of<int64_t>({2, columns}))}});
  };
  EXPECT_EQ(reading_of(sparse(npz_free_columns)).message, "");
  expect_refused(reading_of(sparse(npz_free_columns + 1)), "1,048,577 columns and 1 entries", 1 << 20);
  expect_refused(reading_of(sparse((int64_t{1} << 31) - 1)), "2,147,483,647 columns and 1 entries", 1 << 20);
}

TEST(HostileNpz, ManyFilesInAnArchive) {
  const auto numbered = [](size_t count) {
    Files files;
    for (size_t i = 0; i < count; ++i) files.emplace_back("file " + std::to_string(i), "");
    return zip_of(files);
  };
  const TemporaryFolder folder;
  const auto some = folder.write("some.zip", numbered(ZipArchive::most_entries)),
             many = folder.write("many.zip", numbered(65534));
  EXPECT_EQ(ZipArchive(some).names().size(), ZipArchive::most_entries);
  expect_refused(watched([&] { const ZipArchive archive(many); }), "65,534 files, at most 4,096 are read", 1 << 16);
}

#ifdef L0GM_HAS_ZLIB
// A zip archive of one deflated entry.
std::string deflated_zip(const std::string& name, const std::string& content) {
  std::string packed(compressBound(content.size()), '\0');
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  const std::string facts = little(8, 2) + little(0, 4) + little(crc, 4) + little(packed.size(), 4) + little(content.size(), 4) +
                            little(name.size(), 2);
  const std::string bytes = "PK\3\4" + little(20, 2) + little(0, 2) + facts + little(0, 2) + name + packed;
  const std::string directory = "PK\1\2" + little(20, 2) + little(20, 2) + little(0, 2) + facts + little(0, 16) + name;
  return bytes + directory + "PK\5\6" + little(0, 4) + little(1, 2) + little(1, 2) + little(directory.size(), 4) +
         little(bytes.size(), 4) + little(0, 2);
}

TEST(HostileNpz, AThousandTimesItsSize) {
  const TemporaryFolder folder;
  const auto path = [&](size_t size) { return folder.write("a.zip", deflated_zip("x", std::string(size, '\0'))); };
  const auto read = [](const std::filesystem::path& file) { return watched([&] { ZipArchive(file).read("x"); }); };
  EXPECT_EQ(read(path(ZipArchive::always_unpacked)).message, "");
  const auto bomb = path(2 * ZipArchive::always_unpacked);
  EXPECT_LT(std::filesystem::file_size(bomb), 2 * ZipArchive::always_unpacked / 1000);
  expect_refused(read(bomb), "claim more than 67,108,864 bytes", 1 << 16);
}
#endif

// The key of U82 is that of int64 when kind and size are added up.
TEST(HostileNpz, TextOfAnySizeIsNoNumber) {
  for (int64_t size = 1; size < 1000; ++size) {
    const std::string count = std::to_string(size);
    const std::string wide = npy_of("<U" + count, "(1,)", std::string(static_cast<size_t>(size) * 4, '\0'));
    const std::string narrow = npy_of("|S" + count, "(1,)", std::string(static_cast<size_t>(size), '\0'));
    for (const std::string& bytes : {wide, narrow}) {
      EXPECT_THROW(whole_numbers(read_npy(bytes, "a"), "a"), UserError) << size;
      EXPECT_THROW(real_numbers(read_npy(bytes, "a"), "a"), UserError) << size;
    }
  }
}

}  // namespace
}  // namespace l0gm
