#include "data/graph/zip.h"

#include <gtest/gtest.h>

#include "data/graph/archive_tools.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

std::string replaced(std::string bytes, size_t place, const std::string& with) { return bytes.replace(place, with.size(), with); }

TEST(Zip, StoredEntries) {
  const TemporaryFolder folder;
  const ZipArchive archive(folder.write("a.zip", zip_of({{"one", "first"}, {"empty", ""}, {"two", "second"}})));
  EXPECT_EQ(archive.names(), (std::vector<std::string>{"one", "empty", "two"}));
  EXPECT_EQ(archive.read("one"), "first");
  EXPECT_EQ(archive.read("empty"), "");
  EXPECT_EQ(archive.read("two"), "second");
  EXPECT_TRUE(archive.has("two"));
  const std::string message = message_of<UserError>([&] { archive.read("tow"); });
  EXPECT_NE(message.find("holds no 'tow'; it holds: one, empty, two. Did you mean 'two'?"), std::string::npos) << message;
}

TEST(Zip, DeflatedEntries) {
  const ZipArchive archive(graph_test_file("protocol4.npz"));
  EXPECT_TRUE(archive.has("node_label.npy"));
  EXPECT_TRUE(archive.read("node_label.npy").starts_with("\x93NUMPY"));
}

// Numbers too large for a field are in an extra field of 64-bit numbers.
TEST(Zip, WideNumbers) {
  const TemporaryFolder folder;
  const std::string content = "content", name = "x";
  const std::string local = "PK\3\4" + little(20, 2) + little(0, 8) + little(crc_of(content), 4) + little(0xFFFFFFFF, 4) +
                            little(0xFFFFFFFF, 4) + little(1, 2) + little(0, 2) + name + content;
  const std::string extra = little(1, 2) + little(24, 2) + little(content.size(), 8) + little(content.size(), 8) + little(0, 8);
  const std::string entry = "PK\1\2" + little(45, 2) + little(45, 2) + little(0, 8) + little(crc_of(content), 4) +
                            little(0xFFFFFFFF, 4) + little(0xFFFFFFFF, 4) + little(1, 2) + little(extra.size(), 2) +
                            little(0, 10) + little(0xFFFFFFFF, 4) + name + extra;
  const std::string wide_end =
      "PK\6\6" + little(44, 8) + little(0, 12) + little(1, 8) + little(1, 8) + little(entry.size(), 8) + little(local.size(), 8);
  const std::string locator = "PK\6\7" + little(0, 4) + little(local.size() + entry.size(), 8) + little(1, 4);
  const std::string end = "PK\5\6" + little(0, 4) + little(0xFFFF, 2) + little(0xFFFF, 2) + little(0xFFFFFFFF, 4) +
                          little(0xFFFFFFFF, 4) + little(0, 2);
  const ZipArchive archive(folder.write("a.zip", local + entry + wide_end + locator + end));
  EXPECT_EQ(archive.read("x"), "content");
}

TEST(Zip, WhatDoesNotFitIsRefused) {
  const TemporaryFolder folder;
  const std::string good = zip_of({{"one", "first"}});
  const size_t entry = good.find("PK\1\2");
  const auto refusal = [&](const std::string& bytes) {
    return message_of<UserError>([&] { ZipArchive(folder.write("a.zip", bytes)).read("one"); });
  };
  EXPECT_NE(refusal("").find("does not start"), std::string::npos);
  EXPECT_NE(refusal(good.substr(0, good.size() - 1)).find("cut off"), std::string::npos);
  EXPECT_NE(refusal(replaced(good, 33, "F")).find("checksum"), std::string::npos);
  EXPECT_NE(refusal(replaced(good, entry + 8, "\1")).find("encrypted"), std::string::npos);
  EXPECT_NE(refusal(replaced(good, entry + 10, "\x0e")).find("method 14"), std::string::npos);
  EXPECT_NE(refusal(replaced(good, entry + 20, little(1000, 4))).find("longer than the archive"), std::string::npos);
  EXPECT_NE(refusal(replaced(good, entry + 42, little(7, 4))).find("not where it should be"), std::string::npos);
  // Claims beyond what is there are refused before memory is spent on them: stored, and deflated beyond what deflate can do.
  EXPECT_NE(refusal(replaced(good, entry + 24, little(60000000, 4))).find("claims 60,000,000 bytes"), std::string::npos);
  EXPECT_NE(refusal(replaced(replaced(good, entry + 10, "\x08"), entry + 24, little(60000000, 4))).find("can hold at most 5,160"),
            std::string::npos);
  EXPECT_NE(refusal(replaced(good, entry + 10, "\x08")).find("cannot be decompressed"), std::string::npos);
  EXPECT_NE(refusal(zip_of({{"one", "a"}, {"one", "b"}})).find("holds 'one' twice"), std::string::npos);
}

TEST(Zip, DamageIsAMessageOrTheSameContent) {
  const TemporaryFolder folder;
  int refused = 0, same = 0;
  const std::string bytes = read_file(graph_test_file("protocol4.npz"));
  const std::string wanted = ZipArchive(graph_test_file("protocol4.npz")).read("node_label.npy");
  each_damage(bytes, false, [&](const std::string& damaged) {
    with_file(folder.path(), damaged, [&](const std::filesystem::path& path) {
      try {
        const ZipArchive archive(path);
        EXPECT_EQ(archive.read("node_label.npy"), wanted);
        same += 1;
      } catch (const UserError&) {
        refused += 1;
      }
    });
  });
  EXPECT_GT(refused, 400);
  EXPECT_GT(same, 500);
}

}  // namespace
}  // namespace l0gm
