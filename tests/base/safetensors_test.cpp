#include "base/safetensors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

#include "base/files.h"
#include "base/hash.h"
#include "base/random.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

std::string path_of_this_test() {
  return testing::TempDir() + "l0gm_safetensors_" + std::to_string(::getpid()) + "_" +
         testing::UnitTest::GetInstance()->current_test_info()->name();
}

// A file put together by hand: length, header, tensor region.
std::string file_of(const std::string& header, const std::string& region) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes + header + region;
}

std::string error_of(const std::string& bytes) {
  try {
    SafetensorsFile::from_bytes(bytes, "x");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of(const std::string& header, const std::string& region) { return error_of(file_of(header, region)); }

std::string invalid(const std::string& what) { return "'x' is not a valid safetensors file: " + what; }

std::string text_of(const TensorBytes& tensor) { return {tensor.bytes.data(), tensor.bytes.size()}; }

// A file as the tests below write it: four tensors of different types, one of them empty, one a scalar.
std::string written_file(const std::string& path) {
  static const std::vector<double> wide = {1.5, -2.5};
  static const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  static const std::string bytes = "abc";
  const auto span = [](const auto& values) {
    return std::span<const char>(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  write_safetensors(path,
                    {{"a bytes", {DType::u8, {3}, span(bytes)}},
                     {"b empty", {DType::i64, {0, 5}, {}}},
                     {"c floats", {DType::f32, {2, 3}, span(floats)}},
                     {"d scalar", {DType::f64, {}, span(wide).first(8)}}},
                    {{"l0gm", "{\"version\": 1}"}, {"ä", "€"}});
  return read_file(path);
}

TEST(Safetensors, ReadsAFileWrittenByHand) {
  const std::string header = R"({"weight":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"__metadata__":{"format":"pt"},)"
                             R"("bias":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]}})";
  const SafetensorsFile file =
      SafetensorsFile::from_bytes(file_of(header, std::string("\0\0\x80\x3f\0\0\0\xc0", 8) + "\1" + std::string(2, '\0')), "x");
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"format", "pt"}}));
  ASSERT_EQ(file.tensors().size(), 2U);
  const TensorBytes& weight = file.tensor("weight");
  EXPECT_EQ(weight.dtype, DType::f32);
  EXPECT_EQ(weight.shape, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(weight.elements(), 2);
  float values[2];
  std::memcpy(values, weight.bytes.data(), 8);
  EXPECT_EQ(values[0], 1.0F);
  EXPECT_EQ(values[1], -2.0F);
  EXPECT_EQ(text_of(file.tensor("bias")), std::string("\1\0\0", 3));
  EXPECT_TRUE(file.has("bias"));
  EXPECT_FALSE(file.has("__metadata__"));
}

TEST(Safetensors, AcceptsAnyOrderInTheHeaderAndEmptyFiles) {
  const SafetensorsFile file = SafetensorsFile::from_bytes(
      file_of(R"({"b":{"shape":[2],"data_offsets":[1,3],"dtype":"I8"},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}   )",
              "xyz"),
      "x");
  EXPECT_EQ(text_of(file.tensor("a")), "x");
  EXPECT_EQ(text_of(file.tensor("b")), "yz");
  EXPECT_TRUE(SafetensorsFile::from_bytes(file_of("{}", ""), "x").tensors().empty());
}

TEST(Safetensors, TheWrittenBytesAreTheFormat) {
  const std::string path = path_of_this_test(), bytes = "abc";
  const char two[2] = {1, 2};
  write_safetensors(path, {{"a", {DType::u8, {3}, bytes}}, {"b", {DType::f16, {1}, two}}}, {{"k", "v"}});
  const std::string region = std::string("\1\2", 2) + "abc";
  std::string header =
      R"({"__metadata__":{"k":"v","sha256":")" + sha256(region) +
      R"("},"b":{"dtype":"F16","shape":[1],"data_offsets":[0,2]},"a":{"dtype":"U8","shape":[3],"data_offsets":[2,5]}})";
  while (header.size() % 8 != 0) header += ' ';
  EXPECT_EQ(read_file(path), file_of(header, region));
  std::remove(path.c_str());
}

TEST(Safetensors, WhatIsWrittenIsReadBack) {
  const std::string path = path_of_this_test();
  const std::string bytes = written_file(path);
  for (int way = 0; way < 2; ++way) {
    SafetensorsFile opened = way == 0 ? SafetensorsFile(path) : SafetensorsFile::from_bytes(bytes, "x");
    const SafetensorsFile file = std::move(opened);
    EXPECT_EQ(file.tensors().size(), 4U);
    EXPECT_EQ(file.metadata().at("l0gm"), "{\"version\": 1}");
    EXPECT_EQ(file.metadata().at("ä"), "€");
    EXPECT_EQ(file.metadata().at("sha256").size(), 64U);
    EXPECT_EQ(text_of(file.tensor("a bytes")), "abc");
    EXPECT_EQ(file.tensor("b empty").shape, (std::vector<int64_t>{0, 5}));
    EXPECT_EQ(file.tensor("b empty").elements(), 0);
    EXPECT_EQ(file.tensor("d scalar").elements(), 1);
    for (const auto& [name, tensor] : file.tensors()) {
      if (tensor.bytes.empty()) continue;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % size_of(tensor.dtype), 0U) << name << " is not aligned";
    }
  }
  std::remove(path.c_str());
}

TEST(Safetensors, MissingTensorNamesTheNearest) {
  const SafetensorsFile file =
      SafetensorsFile::from_bytes(file_of(R"({"weight":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "x"), "m.l0gm");
  try {
    file.tensor("wieght");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), "'m.l0gm' has no tensor 'wieght'; it has: weight. Did you mean 'weight'?");
  }
}

TEST(Safetensors, WrongLengths) {
  EXPECT_EQ(error_of(""), invalid("it has 0 bytes; a header length alone takes 8"));
  EXPECT_EQ(error_of(std::string(7, '\0')), invalid("it has 7 bytes; a header length alone takes 8"));
  EXPECT_EQ(error_of(std::string(8, '\0')), invalid("its header does not begin with '{'"));
  EXPECT_EQ(error_of(std::string("\3\0\0\0\0\0\0\0{}", 10)),
            invalid(
                "its header should have 3 bytes, but 2 follow and 100000000 are allowed: it is cut off or another kind of file"));
  EXPECT_EQ(error_of(std::string(8, '\xff') + "{}"),
            invalid("its header should have 18446744073709551615 bytes, but 2 follow and "
                    "100000000 are allowed: it is cut off or another kind of file"));
}

TEST(Safetensors, WrongJson) {
  EXPECT_EQ(error_of("[]", ""), invalid("its header does not begin with '{'"));
  EXPECT_EQ(error_of(" {}", ""), invalid("its header does not begin with '{'"));
  EXPECT_EQ(error_of("\xEF\xBB\xBF{}", ""), invalid("its header does not begin with '{'"));
  EXPECT_EQ(error_of(std::string("{}\0", 3), ""), invalid("its header has a zero byte"));
  for (const std::string header : {"{", "{}x", "{}{}", "{\"a\"}", "{\"a\":}", "{a:1}", "{,}", "{\"\xff\":{}}",
                                   "{\"__metadata__\":{\"a\":\"b\",}}", "{\"\\ud800\":{}}", "{/**/}", "{\"a"}) {
    EXPECT_TRUE(error_of(header, "").starts_with(invalid("its header is not valid JSON near byte ")))
        << header << ": " << error_of(header, "");
  }
}

TEST(Safetensors, WrongForm) {
  const auto tensor = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return "{\"a\":{\"dtype\":" + dtype + ",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}}";
  };
  const std::string good = tensor("\"U8\"", "[1]", "[0,1]");
  EXPECT_EQ(error_of(good, "x"), "no error");
  const std::pair<std::string, std::string> cases[] = {
      {R"({"a":1})", "its header has a number as 'a'"},
      {R"({"a":[]})", "its header has an array as 'a'"},
      {R"({"a":null})", "its header has null as 'a'"},
      {R"({"a":"s"})", "its header has a string as 'a'"},
      {R"({"":{}})", "a tensor has no name"},
      {R"({"a":{}})", "tensor 'a' lacks dtype, shape or data_offsets"},
      {R"({"a":{"dtype":"U8","shape":[1]}})", "tensor 'a' lacks dtype, shape or data_offsets"},
      {R"({"a":{"extra":1}})", "tensor 'a' has an unknown 'extra'"},
      {R"({"a":{"dtype":"U8","dtype":"U8"}})", "tensor 'a' has 'dtype' twice"},
      {good.substr(0, good.size() - 1) + "," + good.substr(1), "it has 'a' twice"},
      {R"({"__metadata__":{},"__metadata__":{}})", "it has '__metadata__' twice"},
      {R"({"__metadata__":{"k":"1","k":"1"}})", "the metadata has 'k' twice"},
      {R"({"__metadata__":{"k":1}})", "the metadata has a number as 'k'; strings are needed"},
      {R"({"__metadata__":{"k":{}}})", "the metadata has an object as 'k'; strings are needed"},
      {R"({"__metadata__":{"k":[]}})", "the metadata has an array as 'k'; strings are needed"},
      {R"({"__metadata__":[]})", "its header has an array as '__metadata__'"},
      {R"({"__metadata__":null})", "its header has null as '__metadata__'"},
      {tensor("\"F8\"", "[1]", "[0,1]"), "tensor 'a' has the type 'F8', which l0gm does not support"},
      {tensor("\"u8\"", "[1]", "[0,1]"), "tensor 'a' has the type 'u8', which l0gm does not support"},
      {tensor("1", "[1]", "[0,1]"), "tensor 'a' has a number in its 'dtype'"},
      {tensor("[]", "[1]", "[0,1]"), "tensor 'a' has an array in its 'dtype'"},
      {tensor("{}", "[1]", "[0,1]"), "tensor 'a' has an object in its 'dtype'"},
      {tensor("\"U8\"", "1", "[0,1]"), "tensor 'a' has a number in its 'shape'"},
      {tensor("\"U8\"", "\"1\"", "[0,1]"), "tensor 'a' has a string in its 'shape'"},
      {tensor("\"U8\"", "[[1]]", "[0,1]"), "tensor 'a' has an array in its 'shape'"},
      {tensor("\"U8\"", "[-1]", "[0,1]"), "tensor 'a' has a negative number in its 'shape'"},
      {tensor("\"U8\"", "[1.0]", "[0,1]"), "tensor 'a' has a number that is not an integer in its 'shape'"},
      {tensor("\"U8\"", "[1e0]", "[0,1]"), "tensor 'a' has a number that is not an integer in its 'shape'"},
      {tensor("\"U8\"", "[true]", "[0,1]"), "tensor 'a' has true or false in its 'shape'"},
      {tensor("\"U8\"", "[9223372036854775808]", "[0,1]"), "tensor 'a': 9223372036854775808 is too large"},
      {tensor("\"U8\"", "[99999999999999999999999]", "[0,1]"), "tensor 'a' has a number that is not an integer in its 'shape'"},
      {tensor("\"U8\"", "[1]", "[0]"), "tensor 'a' has 1 data_offsets; 2 are needed"},
      {tensor("\"U8\"", "[1]", "[0,1,1]"), "tensor 'a' has 3 data_offsets; 2 are needed"},
  };
  for (const auto& [header, what] : cases) EXPECT_EQ(error_of(header, "x"), invalid(what)) << header;
}

TEST(Safetensors, WrongLayout) {
  const auto tensor = [](const std::string& name, const std::string& shape, const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":\"U8\",\"shape\":" + shape + ",\"data_offsets\":" + offsets + "}";
  };
  const auto error = [](const std::string& inside, size_t size) { return error_of("{" + inside + "}", std::string(size, 'x')); };
  EXPECT_EQ(error(tensor("a", "[1]", "[1,0]"), 1), invalid("tensor 'a' lies at bytes 1 to 0 of a region of 1"));
  EXPECT_EQ(error(tensor("a", "[2]", "[0,2]"), 1), invalid("tensor 'a' lies at bytes 0 to 2 of a region of 1"));
  EXPECT_EQ(error(tensor("a", "[2]", "[0,1]"), 1), invalid("tensor 'a' has 1 bytes; its type and shape need 2"));
  EXPECT_EQ(error(tensor("a", "[]", "[0,0]"), 0), invalid("tensor 'a' has 0 bytes; its type and shape need 1"));
  EXPECT_EQ(error(tensor("a", "[4294967296,4294967296]", "[0,0]"), 0), invalid("the shape of tensor 'a' is too large"));
  EXPECT_EQ(error(tensor("a", "[0,4294967296,4294967296]", "[0,0]"), 0), invalid("the shape of tensor 'a' is too large"));
  EXPECT_EQ(error(tensor("a", "[1]", "[1,2]"), 2),
            invalid("tensor 'a' begins at byte 1 where 0 was expected: tensors overlap or leave a gap"));
  EXPECT_EQ(error(tensor("a", "[2]", "[0,2]") + "," + tensor("b", "[2]", "[1,3]"), 3),
            invalid("tensor 'b' begins at byte 1 where 2 was expected: tensors overlap or leave a gap"));
  EXPECT_EQ(error(tensor("a", "[2]", "[0,2]") + "," + tensor("b", "[2]", "[0,2]"), 2),
            invalid("tensor 'b' begins at byte 0 where 2 was expected: tensors overlap or leave a gap"));
  EXPECT_EQ(error(tensor("a", "[1]", "[0,1]"), 3), invalid("2 bytes follow the last tensor"));
  EXPECT_EQ(error("", 1), invalid("1 bytes follow the last tensor"));
  EXPECT_EQ(error(tensor("z", "[0]", "[1,1]") + "," + tensor("a", "[1]", "[0,1]"), 1), "no error");
}

TEST(Safetensors, DeepNestingCostsNoStack) {
  for (const std::string start : {"{\"a\":", "{\"__metadata__\":{\"k\":", "{\"a\":{\"shape\":"}) {
    std::string arrays = start + std::string(5000000, '['), objects = start;
    for (int i = 0; i < 1000000; ++i) objects += "{\"a\":";
    EXPECT_NE(error_of(arrays, ""), "no error");
    EXPECT_NE(error_of(objects, ""), "no error");
  }
}

TEST(Safetensors, NamesInMessagesAreSafeToPrint) {
  EXPECT_EQ(error_of("{\"\\u001b[2J\":1}", ""), invalid("its header has a number as '?[2J'"));
  EXPECT_LT(error_of("{\"" + std::string(100000, 'n') + "\":1}", "").size(), 600U);
}

TEST(Safetensors, DigestIsChecked) {
  const std::string tensor = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  EXPECT_EQ(error_of(R"({"__metadata__":{"sha256":")" + sha256("x") + "\"}," + tensor, "x"), "no error");
  EXPECT_EQ(error_of(R"({"__metadata__":{"sha256":")" + sha256("x") + "\"}," + tensor, "y"),
            invalid("the tensors do not match the SHA-256 in its header: it is damaged"));
}

// A damaged file is refused with a UserError, or what is read from it is consistent.
void expect_sound_or_user_error(const std::string& bytes) {
  try {
    const SafetensorsFile file = SafetensorsFile::from_bytes(bytes, "x");
    size_t total = 0;
    for (const auto& [name, tensor] : file.tensors()) {
      ASSERT_FALSE(name.empty());
      ASSERT_EQ(static_cast<size_t>(tensor.elements()) * size_of(tensor.dtype), tensor.bytes.size());
      total += text_of(tensor).size();  // reads every byte, so that a sanitizer sees one that is out of bounds
    }
    ASSERT_LT(total, bytes.size());
  } catch (const UserError&) {
  }
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const std::string path = path_of_this_test(), bytes = written_file(path);
  for (size_t size = 0; size < bytes.size(); ++size) ASSERT_NE(error_of(bytes.substr(0, size)), "no error") << size;
  EXPECT_NE(error_of(bytes + "x"), "no error");
  std::remove(path.c_str());
}

TEST(Safetensors, RandomDamageIsRefusedOrHarmless) {
  const std::string path = path_of_this_test(), bytes = written_file(path);
  const size_t region_at = bytes.size() - 8 - 24 - 3;
  RandomStream random(2024);
  for (int i = 0; i < 8000; ++i) {
    std::string damaged = bytes;
    const size_t flips = 1 + random.below(3);
    bool in_region_only = true;
    for (size_t flip = 0; flip < flips; ++flip) {
      const size_t at = random.below(damaged.size());
      in_region_only = in_region_only && at >= region_at;
      damaged[at] = static_cast<char>(i % 2 == 0 ? damaged[at] ^ (1 << random.below(8)) : static_cast<int>(random.below(256)));
    }
    if (random.below(4) == 0) damaged.resize(random.below(damaged.size() + 1));
    expect_sound_or_user_error(damaged);
    ASSERT_TRUE(!in_region_only || damaged == bytes || error_of(damaged) != "no error") << i;
  }
  // Digits and brackets in the header are where a wrong file still looks right: change those more often.
  for (int i = 0; i < 8000; ++i) {
    std::string damaged = bytes;
    const size_t at = 8 + random.below(region_at - 8);
    damaged[at] = "0123456789-.e[]{},:\"\\ "[random.below(22)];
    expect_sound_or_user_error(damaged);
  }
  std::remove(path.c_str());
}

TEST(Safetensors, WritingRefusesWhatCannotBeRead) {
  const std::string path = path_of_this_test(), bytes = "abcd";
  EXPECT_THROW(write_safetensors(path, {{"", {DType::u8, {4}, bytes}}}, {}), std::invalid_argument);
  EXPECT_THROW(write_safetensors(path, {{"__metadata__", {DType::u8, {4}, bytes}}}, {}), std::invalid_argument);
  EXPECT_THROW(write_safetensors(path, {{"a", {DType::u8, {3}, bytes}}}, {}), std::invalid_argument);
  EXPECT_THROW(write_safetensors(path, {{"a", {DType::u8, {-4}, bytes}}}, {}), std::invalid_argument);
  EXPECT_THROW(write_safetensors(path, {{"a\xff", {DType::u8, {4}, bytes}}}, {}), std::exception);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THROW(write_safetensors(path + "/missing/a", {}, {}), UserError);
  EXPECT_THROW(SafetensorsFile{path}, UserError);
}

TEST(Safetensors, NamesAndSizesOfTypes) {
  EXPECT_EQ(name_of(DType::bf16), "BF16");
  EXPECT_EQ(name_of(DType::boolean), "BOOL");
  EXPECT_EQ(size_of(DType::f64), 8U);
  EXPECT_EQ(size_of(DType::i32), 4U);
  EXPECT_EQ(size_of(DType::bf16), 2U);
  EXPECT_EQ(size_of(DType::boolean), 1U);
}

}  // namespace
}  // namespace l0gm
