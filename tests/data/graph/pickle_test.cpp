#include "data/graph/pickle.h"

#include <gtest/gtest.h>

#include "data/graph/archive_tools.h"
#include "data/graph/zip.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using Kind = PickleValue::Kind;

std::string refusal(const std::string& bytes) {
  return message_of<UserError>([&] { const Pickle pickle(bytes, "here"); });
}

std::string text_opcode(const std::string& text) { return "X" + little(text.size(), 4) + text; }

TEST(Pickle, PlainValues) {
  // {"a": [1, -2, 1.5, None, True], "b": (b"xy", 40000)}
  const std::string bytes = std::string("\x80\x02}(") + text_opcode("a") + "](K\1" + "J" + little(static_cast<uint32_t>(-2), 4) +
                            "G\x3f\xf8" + std::string(6, '\0') + "N\x88" + "e" + text_opcode("b") + "C\2xyM" + little(40000, 2) +
                            "\x86" + "u.";
  const Pickle pickle(bytes, "here");
  const PickleValue& value = pickle.value();
  ASSERT_EQ(value.kind, Kind::dictionary);
  ASSERT_NE(value.entry("a"), nullptr);
  EXPECT_EQ(value.entry("c"), nullptr);
  const auto& list = value.entry("a")->items;
  ASSERT_EQ(list.size(), 5u);
  EXPECT_EQ(list[0]->integer, 1);
  EXPECT_EQ(list[1]->integer, -2);
  EXPECT_EQ(list[2]->real, 1.5);
  EXPECT_EQ(list[3]->kind, Kind::none);
  EXPECT_EQ(list[4]->kind, Kind::boolean);
  const auto& tuple = value.entry("b")->items;
  ASSERT_EQ(tuple.size(), 2u);
  EXPECT_EQ(tuple[0]->text, "xy");
  EXPECT_EQ(tuple[1]->integer, 40000);
}

TEST(Pickle, NothingButArraysIsNamed) {
  const std::string system = refusal(
      "\x80\x02"
      "cposix\nsystem\n" +
      text_opcode("true") + "\x85R.");
  EXPECT_NE(system.find("asks for 'posix.system'"), std::string::npos) << system;
  EXPECT_NE(system.find("nothing in it was run"), std::string::npos) << system;
  const std::string stacked =
      refusal("\x80\x04" + text_opcode("builtins") + text_opcode("eval") + "\x93" + text_opcode("1") + "\x85R.");
  EXPECT_NE(stacked.find("asks for 'builtins.eval'"), std::string::npos) << stacked;
  EXPECT_NE(refusal("\x80\x02"
                    "cnumpy.core.multiarray\nscalar\n.")
                .find("numpy.core.multiarray.scalar"),
            std::string::npos);
  EXPECT_NE(refusal("\x80\x02"
                    "cnumpy\nndarray\n)R.")
                .find("'numpy ndarray' with arguments that numpy does not write"),
            std::string::npos);
  EXPECT_NE(refusal("\x80\x02"
                    "cnumpy\nndarray\n)\x81.")
                .find("not a csr_matrix"),
            std::string::npos);
}

TEST(Pickle, MalformedOnesAreRefused) {
  EXPECT_NE(refusal("").find("cut off"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02X\xff\xff\xff\x7f").find("cut off"), std::string::npos);
  EXPECT_NE(refusal("\x80\x01N.").find("protocol is 1"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02.").find("does not end"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02NN.").find("does not end"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02N.N").find("does not end"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02h\x05.").find("does not exist"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02t.").find("mark is missing"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02Na.").find("missing"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02NNa.").find("not a container"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02(\x85.").find("value is missing"), std::string::npos);  // a tuple may not reach below a mark
  EXPECT_NE(refusal("\x80\x02}(Nu.").find("not a container"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02i.").find("opcode 0x69"), std::string::npos);
  EXPECT_NE(refusal("\x80\x02NNb.").find("gives None a state"), std::string::npos);
}

TEST(Pickle, DeepAndCircularOnesDoNoHarm) {
  const std::string deep = "\x80\x02N" + std::string(200000, '\x85') + ".";
  EXPECT_EQ(Pickle(deep, "here").value().kind, Kind::tuple);
  const std::string circle = std::string("\x80\x02]q") + '\0' + "h" + '\0' + "a.";
  const Pickle pickle(circle, "here");
  EXPECT_EQ(pickle.value().items[0], &pickle.value());
}

// The same bytes, encoded from one text over and over, would grow without end.
TEST(Pickle, ASmallPickleCannotBecomeLarge) {
  std::string bytes =
      "\x80\x02"
      "c_codecs\nencode\nq" +
      std::string("\0", 1) + text_opcode(std::string(5000, 'x')) + text_opcode("latin1") + "\x86q\1R";
  for (int i = 0; i < 10; ++i) bytes += std::string("h\0h\1R", 5);
  EXPECT_NE(refusal(bytes + ".").find("the same bytes several times"), std::string::npos);
}

TEST(Pickle, DamageIsAMessageOrAValue) {
  int refused = 0, read = 0;
  for (const char* name : {"protocol2.npz", "protocol3.npz", "protocol4.npz"}) {
    const std::string bytes = ZipArchive(graph_test_file(name)).read("node_attr.npy").substr(128);
    ASSERT_NO_THROW(Pickle(bytes, "here"));
    each_damage(bytes, true, [&](const std::string& damaged) {
      try {
        const Pickle pickle(damaged, "here");
        read += 1;
      } catch (const UserError&) {
        refused += 1;
      }
    });
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace l0gm
