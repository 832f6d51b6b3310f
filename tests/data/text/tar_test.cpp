#include "data/text/tar.h"

#include <gtest/gtest.h>

#include "data/text/tar_tools.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace tar_tools;

class Tar : public testing::Test {
 protected:
  // "name=content" of each file
  std::vector<std::string> contents(const std::string& bytes) {
    TarReader tar(folder_.write("a.tar", bytes));
    std::vector<std::string> files;
    while (tar.next()) files.push_back(tar.name() + "=" + tar.content(1000));
    return files;
  }
  void expect_refusal(const std::string& bytes, const std::string& part) {
    const std::string message = message_of<UserError>([&] { contents(bytes); });
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  TemporaryFolder folder_;
};

TEST_F(Tar, FilesOfAllSizes) {
  const std::string block(512, 'x'), more(513, 'y');
  EXPECT_EQ(contents(member("a", "hello") + member("b", "") + member("c", block) + member("d", more) + end()),
            (std::vector<std::string>{"a=hello", "b=", "c=" + block, "d=" + more}));
  EXPECT_EQ(contents(member("a", "1")), (std::vector<std::string>{"a=1"})) << "an end without zeros";
  EXPECT_TRUE(contents(end()).empty());
}

TEST_F(Tar, NamesInTwoPartsAndLongOnes) {
  const std::string name(180, 'n');
  EXPECT_EQ(contents(member("b", "1", '0', "a") + member("././@LongLink", name + '\0', 'L') + member("nnn", "2") +
                     member("c", "3")),
            (std::vector<std::string>{"a/b=1", name + "=2", "c=3"}));
}

TEST_F(Tar, OtherMembersArePassedOver) {
  EXPECT_EQ(contents(member("d", "", '5') + member("l", "", '2') + member("pax", "20 path=other\n", 'x') + member("a", "1") +
                     member("g", "x", 'g') + end()),
            (std::vector<std::string>{"a=1"}));
}

TEST_F(Tar, WhatIsNotReadIsPassedOver) {
  TarReader tar(folder_.write("a.tar", member("a", std::string(20000, 'x')) + member("b", "2") + end()));
  ASSERT_TRUE(tar.next() && tar.next());
  EXPECT_EQ(tar.name(), "b");
  EXPECT_EQ(tar.content(10), "2");
  EXPECT_FALSE(tar.next());
}

TEST_F(Tar, DamageIsRefused) {
  const std::string good = member("a", "hello");
  expect_refusal("", "it is empty");
  expect_refusal("hello", "middle of a header");
  expect_refusal(std::string(5000, 'x'), "checksum");
  for (size_t cut = 1; cut < good.size(); cut += 37) EXPECT_THROW(contents(good.substr(0, cut)), UserError) << cut;
  std::string flipped = good;
  flipped[3] ^= 1;
  expect_refusal(flipped, "checksum");
}

TEST_F(Tar, LyingSizesAreRefusedWithoutAllocation) {
  expect_refusal(header_of("a", 077777777777) + "x", "8,589,934,591 bytes, wanted at most 1,000");
  expect_refusal(header_of("a", 900) + "x", "middle of a file");
  expect_refusal(header_of("a", 077777777777, '5') + "x", "middle of a file");
  expect_refusal(header_of("a", 1 << 20, 'L') + "x", "name has 1048576 bytes");
  for (const std::string& size : {std::string(12, '9'), std::string("-0000000001"), std::string(12, '\0'),
                                  std::string(12, '\x80'), std::string("123456789012")}) {
    std::string header = header_of("a", 0);
    set(header, 124, size);
    seal(header);
    expect_refusal(header, "not an octal number");
  }
}

}  // namespace
}  // namespace l0gm
