#include "base/hash.h"

#include <gtest/gtest.h>

#include <fstream>

#include "l0gm/error.h"

namespace l0gm {
namespace {

std::string portable(std::string_view bytes) {
  Sha256 digest = Sha256::portable();
  digest.update(bytes.data(), bytes.size());
  return digest.hex();
}

// Test vectors of FIPS 180-4.
TEST(Sha256, KnownAnswers) {
  const std::pair<std::string, std::string> known[] = {
      {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
      {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
      {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
       "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
      {std::string(1000000, 'a'), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
  };
  for (const auto& [bytes, digest] : known) {
    EXPECT_EQ(sha256(bytes), digest);
    EXPECT_EQ(portable(bytes), digest);
  }
}

TEST(Sha256, PiecesGiveTheSameAsTheWhole) {
  std::string bytes(300, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  for (size_t size = 0; size <= bytes.size(); ++size) {
    const std::string_view whole = std::string_view(bytes).substr(0, size);
    const std::string expected = portable(whole);
    ASSERT_EQ(sha256(whole), expected) << size;
    for (const size_t piece : {1U, 13U, 63U, 64U, 65U}) {
      Sha256 digest;
      for (size_t at = 0; at < size; at += piece) digest.update(bytes.data() + at, std::min<size_t>(piece, size - at));
      digest.update(nullptr, 0);
      ASSERT_EQ(digest.hex(), expected) << size << " in pieces of " << piece;
    }
  }
}

TEST(Sha256, OfAFile) {
  const std::string path = testing::TempDir() + "l0gm_hash_test_file";
  const std::string bytes(600001, 'b');
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(sha256_file(path), sha256(bytes));
  std::remove(path.c_str());
  try {
    sha256_file(path);
    FAIL() << "a missing file has no digest";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find(path), std::string::npos);
  }
  EXPECT_THROW(sha256_file(testing::TempDir()), UserError);
}

}  // namespace
}  // namespace l0gm
