#include "runtime/container.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "base/files.h"
#include "base/hash.h"
#include "runtime/forged_file.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;
using nlohmann::json;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A kind that no program serves, with a key and two tensors of its own.
class Containers : public testing::Test {
 protected:
  Containers() {
    facts_.weights = "float64";
    facts_.calibrator.kind = CalibratorKind::temperature;
    facts_.calibrator.temperature = 1.25;
    facts_.about = {{"made_for", "a test"}};
    writer_.set("wheels", {{"spokes", {20, 24}}});
    writer_.add("rims", DType::f64, {2, 1}, rims_.data(), sizeof(double) * rims_.size());
    writer_.add("teeth", teeth_, {3});
    written_ = writer_.write(path_, facts_);
    bytes_ = read_file(path_);
  }
  static std::string refusal(const std::string& bytes) {
    return message_of<UserError>([&] { Container::parse(bytes, "b.l0gm"); });
  }
  std::string kind_of(const std::string& bytes) const { return Container::kind_of(folder_.write("other.l0gm", bytes)); }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "bicycle.l0gm";
  const std::vector<double> rims_ = {0.1, -2.5};
  const std::vector<int64_t> teeth_ = {11, 13, int64_t{1} << 40};
  ContainerFacts facts_;
  ContainerWriter writer_{"bicycle"};
  int64_t written_ = 0;
  std::string bytes_;
};

TEST_F(Containers, WhatIsWrittenIsReadBack) {
  EXPECT_EQ(written_, static_cast<int64_t>(std::filesystem::file_size(path_)));
  const Container file = Container::read(path_);
  EXPECT_EQ(file.name(), path_.string());
  EXPECT_EQ(file.kind(), "bicycle");
  EXPECT_EQ(file.tensors_sha256(), writer_.tensors_sha256());
  EXPECT_EQ(json::parse(file.manifest_text()), file.manifest());
  EXPECT_EQ(file.manifest()["format_version"], compact_format_version);
  EXPECT_EQ(file.manifest()["wheels"]["spokes"][1], 24);
  const ContainerFacts facts = file.facts(2, {"wheels"});
  EXPECT_EQ(facts.weights, "float64");
  EXPECT_EQ(facts.calibrator.to_json(), facts_.calibrator.to_json());
  EXPECT_EQ(facts.about, facts_.about);
  ASSERT_EQ(file.tensors().size(), 2U);
  const TensorBytes &rims = file.tensors().at("rims"), &teeth = file.tensors().at("teeth");
  EXPECT_EQ(rims.dtype, DType::f64);
  EXPECT_EQ(rims.shape, (std::vector<int64_t>{2, 1}));
  ASSERT_EQ(rims.bytes.size(), 16U);
  EXPECT_EQ(std::memcmp(rims.bytes.data(), rims_.data(), 16), 0);
  EXPECT_EQ(teeth.dtype, DType::i64);
  EXPECT_EQ(teeth.shape, std::vector<int64_t>{3});
  ASSERT_EQ(teeth.bytes.size(), 24U);
  EXPECT_EQ(std::memcmp(teeth.bytes.data(), teeth_.data(), 24), 0);
  EXPECT_EQ(Container::parse(bytes_, "b.l0gm").manifest(), file.manifest());
}

TEST_F(Containers, KeysThatTheKindDoesNotNameAreRefused) {
  const Container file = Container::read(path_);
  const std::string message = message_of<UserError>([&] { file.facts(2, {"saddle"}); });
  EXPECT_TRUE(contains(message, "'wheels' is not known in format version 1")) << message;
  ForgedFile forged(bytes_);
  forged.manifest["calibrator"]["more"] = 1;
  const std::string inner = message_of<UserError>([&] { Container::parse(forged.bytes(), "b.l0gm").facts(2, {"wheels"}); });
  EXPECT_TRUE(contains(inner, "'more' is not known in format version 1")) << inner;
  forged.manifest["calibrator"].erase("more");
  EXPECT_NO_THROW(Container::parse(forged.bytes(), "b.l0gm").facts(2, {"wheels"}));
}

TEST_F(Containers, FactsThatDoNotFitAreRefused) {
  const auto refused = [&](const char* key, const json& value) {
    ForgedFile forged(bytes_);
    forged.manifest[key] = value;
    return message_of<UserError>([&] { Container::parse(forged.bytes(), "b.l0gm").facts(3, {"wheels"}); });
  };
  const json curve = {{"logits", {0, 1}}, {"probabilities", {0.1, 0.9}}};
  EXPECT_TRUE(contains(refused("calibrator", {{"kind", "isotonic"}, {"curves", json::array({curve})}}),
                       "its calibrator has 1 curves for 3 classes"));
  EXPECT_TRUE(contains(refused("about", 3), "'about' must be an object"));
  EXPECT_TRUE(contains(refused("weights", 3), "'weights' is number, wanted a string"));
}

TEST_F(Containers, HashesMustFit) {
  ASSERT_NO_THROW(Container::parse(ForgedFile(bytes_).bytes(), "b.l0gm")) << "the tools of this test";
  ForgedFile tensors(bytes_);
  tensors.tensors["teeth"][0] = static_cast<char>(tensors.tensors["teeth"][0] ^ 1);
  EXPECT_TRUE(contains(refusal(tensors.bytes(false)), "the tensors do not match the SHA-256")) << refusal(tensors.bytes(false));
  ForgedFile manifest(bytes_);
  manifest.manifest["wheels"] = 3;
  EXPECT_TRUE(contains(refusal(manifest.bytes(false)), "the manifest does not match the SHA-256 beside it"));
  EXPECT_NO_THROW(Container::parse(manifest.bytes(), "b.l0gm"));
  ForgedFile another(bytes_);  // both hashes are right by themselves, and of different files
  another.manifest["tensors_sha256"] = sha256("something else");
  const std::string text = another.manifest.dump();
  another.header["__metadata__"]["l0gm_sha256"] = sha256(text);
  EXPECT_TRUE(contains(refusal(another.bytes(false)), "names another SHA-256 of the tensors than the metadata"))
      << refusal(another.bytes(false));
  ForgedFile none(bytes_);
  none.header["__metadata__"].erase("sha256");
  EXPECT_TRUE(contains(refusal(none.bytes(false)), "the metadata has no SHA-256 of the tensors"));
}

TEST_F(Containers, RefusalsNameTheFile) {
  ForgedFile newer(bytes_);
  newer.manifest["format_version"] = compact_format_version + 1;
  EXPECT_TRUE(refusal(newer.bytes()).starts_with("'b.l0gm' cannot be used as a compact model: it is of format version 2"))
      << refusal(newer.bytes());
  const Container file = Container::parse(bytes_, "b.l0gm");
  EXPECT_EQ(file.explain([] { return 7; }), 7);
  const std::string message = message_of<UserError>([&] { file.explain([]() -> int { throw UserError("no \x1b[2Jbell"); }); });
  EXPECT_EQ(message, "'b.l0gm' cannot be used as a compact model: no ?[2Jbell");
  EXPECT_THROW(file.explain([]() -> int { throw std::logic_error("our own mistake"); }), std::logic_error);
  EXPECT_TRUE(contains(message_of<UserError>([&] { Container::read(folder_.path() / "nothing.l0gm"); }), "nothing.l0gm"));
}

// The header alone is read: what is wrong with the rest is told by who reads the file.
TEST_F(Containers, TheKindIsToldOfGoodDamagedForeignAndMissingFiles) {
  EXPECT_EQ(Container::kind_of(path_), "bicycle");
  std::string damaged = bytes_;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  EXPECT_EQ(kind_of(damaged), "bicycle") << "its tensors are damaged, not its header";
  EXPECT_EQ(kind_of(bytes_.substr(0, bytes_.size() - 8)), "bicycle");
  uint64_t header = 0;
  std::memcpy(&header, bytes_.data(), sizeof header);
  for (size_t size = 0; size < 8 + header; size += 5) EXPECT_EQ(kind_of(bytes_.substr(0, size)), "") << size << " bytes";
  for (size_t i = 0; i < 8 + header; ++i) {  // whatever is told, nothing is thrown
    std::string flipped = bytes_;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << i % 8));
    EXPECT_NO_THROW(kind_of(flipped)) << "byte " << i;
  }
  ForgedFile forged(bytes_);
  for (const json& kind : {json(3), json(nullptr), json::array({"bicycle"})}) {
    forged.manifest["kind"] = kind;
    EXPECT_EQ(kind_of(forged.bytes()), "") << kind;
  }
  EXPECT_EQ(kind_of(ForgedFile::assembled("{}", "")), "") << "safetensors of somebody else";
  EXPECT_EQ(kind_of(ForgedFile::assembled(R"({"__metadata__":{"l0gm":"[1]"}})", "")), "");
  EXPECT_EQ(kind_of(std::string(16, '\xFF')), "") << "a header of more bytes than there are";
  EXPECT_EQ(kind_of("a,b\n1,2\n1,2\n1,2\n"), "");
  EXPECT_EQ(kind_of(""), "");
  EXPECT_EQ(Container::kind_of(folder_.path() / "nothing.l0gm"), "");
  EXPECT_EQ(Container::kind_of(folder_.path()), "");
}

TEST_F(Containers, WhatIsNotFiniteIsNotWritten) {
  const float infinite = std::numeric_limits<float>::infinity();
  const std::string message = message_of<UserError>([&] { writer_.add("spokes", DType::f32, {1}, &infinite, sizeof infinite); });
  EXPECT_TRUE(contains(message, "'spokes' has a number that is not finite as F32")) << message;
}

TEST(Container, MessagesAreShortAndFitForATerminal) {
  EXPECT_EQ(fit_for_a_message("a\tb\x7F"), "a?b?");
  const std::string text = fit_for_a_message(std::string(599, 'x') + "é" + std::string(900, 'x'));
  EXPECT_EQ(text, std::string(599, 'x') + "…") << "no character is cut in two";
}

TEST(Container, FiniteIsToldByBits) {
  const auto finite = [](DType type, auto value) {
    char bytes[sizeof value + 1];
    std::memcpy(bytes + 1, &value, sizeof value);  // at an odd address
    return all_finite(type, {bytes + 1, sizeof value});
  };
  EXPECT_TRUE(finite(DType::f32, std::numeric_limits<float>::max()));
  EXPECT_FALSE(finite(DType::f32, -std::numeric_limits<float>::infinity()));
  EXPECT_TRUE(finite(DType::f64, std::numeric_limits<double>::lowest()));
  EXPECT_FALSE(finite(DType::f64, std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(finite(DType::bf16, uint16_t{0x7F7F}));
  EXPECT_FALSE(finite(DType::bf16, uint16_t{0xFFC0}));
  EXPECT_TRUE(finite(DType::i8, int8_t{-1}));
}

}  // namespace
}  // namespace l0gm
