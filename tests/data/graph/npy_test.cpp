#include "data/graph/npy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/graph/archive_tools.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

std::string refusal(const std::string& bytes) {
  return message_of<UserError>([&] { real_numbers(read_npy(bytes, "a.npy"), "a.npy"); });
}

TEST(Npy, NumbersOfAllTypes) {
  const auto floats = [](const std::string& type, const std::string& content) {
    const std::string bytes = npy_of(type, "(2,)", content);
    return real_numbers(read_npy(bytes, "a.npy"), "a.npy");
  };
  const std::vector<float> wanted = {1, 2};
  EXPECT_EQ(floats("<i4", bytes_of<int32_t>({1, 2})), wanted);
  EXPECT_EQ(floats("<i8", bytes_of<int64_t>({1, 2})), wanted);
  EXPECT_EQ(floats("|u1", bytes_of<uint8_t>({1, 2})), wanted);
  EXPECT_EQ(floats("<u2", bytes_of<uint16_t>({1, 2})), wanted);
  EXPECT_EQ(floats("<f4", bytes_of<float>({1, 2})), wanted);
  EXPECT_EQ(floats("<f8", bytes_of<double>({1, 2})), wanted);
  EXPECT_EQ(floats(">i2", std::string("\0\1\0\2", 4)), wanted);
  EXPECT_EQ(floats("<f2", bytes_of<uint16_t>({0x3C00, 0x4000})), wanted);
  EXPECT_EQ(floats("<f2", bytes_of<uint16_t>({0x8001, 0xFBFF})), (std::vector<float>{-0x1p-24F, -65504}));
  EXPECT_TRUE(std::isnan(floats("<f2", bytes_of<uint16_t>({0x7E00, 0x7C00}))[0]));
  EXPECT_EQ(floats("|b1", std::string("\1\0", 2)), (std::vector<float>{1, 0}));
}

TEST(Npy, ColumnsFirstAreTurnedRound) {
  const std::string bytes = npy_of("<f4", "(2, 3)", bytes_of<float>({1, 4, 2, 5, 3, 6}), true);
  EXPECT_EQ(real_numbers(read_npy(bytes, "a"), "a"), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW(whole_numbers(read_npy(bytes, "a"), "a"), UserError);
}

TEST(Npy, WholeNumbersHaveNoFractions) {
  const std::string good = npy_of("<f8", "(2,)", bytes_of<double>({3, -4})),
                    bad = npy_of("<f8", "(2,)", bytes_of<double>({3, 0.5}));
  EXPECT_EQ(whole_numbers(read_npy(good, "a"), "a"), (std::vector<int64_t>{3, -4}));
  const std::string message = message_of<UserError>([&] { whole_numbers(read_npy(bad, "a"), "a"); });
  EXPECT_NE(message.find("element 1 is 0.5"), std::string::npos) << message;
}

TEST(Npy, Texts) {
  const std::string wide = npy_of("<U2", "(3,)", bytes_of<uint32_t>({'a', 0, 0xFC, 0x20AC, 0x1F600, 'b'}));
  EXPECT_EQ(texts(read_npy(wide, "a"), "a"), (std::vector<std::string>{"a", "ü€", "😀b"}));
  const std::string narrow = npy_of("|S3", "(2,)", std::string("ab\0cde", 6));
  EXPECT_EQ(texts(read_npy(narrow, "a"), "a"), (std::vector<std::string>{"ab", "cde"}));
  const std::string surrogate = npy_of("<U1", "(1,)", bytes_of<uint32_t>({0xD800}));
  EXPECT_THROW(texts(read_npy(surrogate, "a"), "a"), UserError);
  const std::string broken = npy_of("|S1", "(1,)", "\xFF");
  EXPECT_THROW(texts(read_npy(broken, "a"), "a"), UserError);
}

TEST(Npy, WhatDoesNotFitIsRefused) {
  EXPECT_NE(refusal("").find("does not start"), std::string::npos);
  EXPECT_NE(refusal("PK\3\4 and more than ten").find("does not start"), std::string::npos);
  EXPECT_NE(refusal(npy_of("<f4", "(3,)", bytes_of<float>({1, 2}))).find("8 bytes of data, its shape needs 12"),
            std::string::npos);
  EXPECT_NE(refusal(npy_of("<f4", "(1,)", bytes_of<float>({1, 2}))).find("cut off or damaged"), std::string::npos);
  EXPECT_NE(refusal(npy_of("<f4", "(4611686018427387904, 4)", "")).find("too large"), std::string::npos);
  EXPECT_NE(refusal(npy_of("<f4", "(4611686018427387904, 4, 0)", "")).find("too large"), std::string::npos);
  EXPECT_NE(refusal(npy_of("<M8", "(1,)", "12345678")).find("type '<M8'"), std::string::npos);
  EXPECT_NE(refusal(npy_of("<c16", "(1,)", "1234567812345678")).find("type '<c16'"), std::string::npos);
  EXPECT_NE(refusal(npy_of("<U1", "(1,)", "abcd")).find("wanted numbers"), std::string::npos);
  EXPECT_NE(refusal(npy_of("<f4", "(-1,)", "")).find("header is damaged"), std::string::npos);
  EXPECT_NE(refusal(npy_of("<f4", "(1", "abcd")).find("header is damaged"), std::string::npos);
}

TEST(Npy, DamageIsAMessageOrAnArray) {
  int refused = 0, read = 0;
  each_damage(npy_of("<i4", "(2, 1)", bytes_of<int32_t>({1, 2})), true, [&](const std::string& bytes) {
    try {
      whole_numbers(read_npy(bytes, "a"), "a");
      read += 1;
    } catch (const UserError&) {
      refused += 1;
    }
  });
  EXPECT_GT(refused, 100);
  EXPECT_GT(read, 8);  // of the elements' own bytes, any value is a number
}

}  // namespace
}  // namespace l0gm
