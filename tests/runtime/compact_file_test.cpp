#include "runtime/compact_file.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/hash.h"
#include "runtime/compact_refusal.h"

namespace l0gm {
namespace {

using namespace testing_tools;
using nlohmann::json;

void expect_same_arrays(const TableNet<PackedRows>& found, const TableNet<PackedRows>& wanted) {
  std::vector<std::pair<std::string, const PackedRows*>> arrays;
  wanted.visit(
      [&](const std::string& name, const PackedRows& rows, int64_t, int64_t, ArrayKind) { arrays.emplace_back(name, &rows); });
  size_t next = 0;
  found.visit([&](const std::string& name, const PackedRows& rows, int64_t count, int64_t columns, ArrayKind) {
    ASSERT_LT(next, arrays.size());
    ASSERT_EQ(name, arrays[next].first);
    const PackedRows& other = *arrays[next++].second;
    ASSERT_EQ(rows.type(), other.type()) << name;
    ASSERT_EQ(rows.rows(), count) << name;
    ASSERT_EQ(rows.columns(), columns) << name;
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < columns; ++j) ASSERT_EQ(rows.value(i, j), other.value(i, j)) << name << " " << i << " " << j;
    }
  });
  EXPECT_EQ(next, arrays.size());
}

void expect_round_trip(const SampleOptions& options) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "m.l0gm";
  const CompactHeader header = sample_header(options);
  const TableNet<Matrix> net = sample_net(header.schema, options);
  const int64_t written = write_compact(path, header, net);
  EXPECT_EQ(written, static_cast<int64_t>(std::filesystem::file_size(path)));
  const CompactFile file = read_compact(path);
  EXPECT_EQ(file.header.schema.to_json(), header.schema.to_json());
  EXPECT_EQ(file.header.calibrator.to_json(), header.calibrator.to_json());
  EXPECT_EQ(file.header.weights, options.weights);
  EXPECT_EQ(file.header.delimiter, ';');
  EXPECT_EQ(file.header.about, header.about);
  EXPECT_EQ(json::parse(file.manifest)["format_version"], 1);
  ASSERT_EQ(file.net.units.size(), net.units.size());
  for (size_t u = 0; u < net.units.size(); ++u) {
    EXPECT_EQ(file.net.units[u].dense, net.units[u].dense);
    EXPECT_EQ(file.net.units[u].place, net.units[u].place);
  }
  EXPECT_EQ(file.net.gate.gate_begin, net.gate.gate_begin);
  EXPECT_EQ(file.net.gate.gate_of_unit, net.gate.gate_of_unit);
  EXPECT_EQ(file.net.gate.scale, net.gate.scale);
  EXPECT_EQ(file.net.gate.step, net.gate.step);
  EXPECT_EQ(file.net.cin.maps, net.cin.maps);
  EXPECT_EQ(file.net.shared, net.shared);
  expect_same_arrays(file.net, pack(net, options.weights));
}

TEST(CompactFile, WhatIsWrittenIsReadBack) {
  for (const WeightType weights : {WeightType::float32, WeightType::bfloat16, WeightType::int8}) {
    SampleOptions options;
    options.weights = weights;
    expect_round_trip(options);
    options = full_sample();
    options.weights = weights;
    expect_round_trip(options);
    expect_round_trip({.hidden = 0, .weights = weights});
    expect_round_trip({.classes = 4, .members = 3, .layers = {2, 6}, .pairs = true, .weights = weights});
    expect_round_trip({.cin = true, .gate = true, .weights = weights});
    options = shared_sample();
    options.weights = weights;
    expect_round_trip(options);
    expect_round_trip({.members = 20, .pairs = true, .gate = true, .shared = true, .weights = weights});
  }
}

TEST(CompactFile, IsSafetensorsWithAManifestAndHashes) {
  SampleOptions options;
  options.weights = WeightType::int8;
  const SafetensorsFile file = SafetensorsFile::from_bytes(bytes_of(options), "m");
  EXPECT_EQ(file.metadata().size(), 3U);
  const std::string manifest = file.metadata().at("l0gm");
  EXPECT_EQ(file.metadata().at("l0gm_sha256"), sha256(manifest));
  const json parsed = json::parse(manifest);
  EXPECT_EQ(parsed["tensors_sha256"], file.metadata().at("sha256"));
  EXPECT_EQ(parsed["kind"], "table");
  EXPECT_EQ(parsed["weights"], "int8");
  EXPECT_EQ(parsed["net"]["columns"][1], (json{{"folded", true}, {"units", 0}, {"waves", 4}}));
  EXPECT_EQ(file.tensor("wide").dtype, DType::i8);
  EXPECT_EQ(file.tensor("wide.scales").dtype, DType::f32);
  EXPECT_EQ(file.tensor("wide.scales").shape, std::vector<int64_t>{file.tensor("wide").shape[0]});
  EXPECT_EQ(file.tensor("base").dtype, DType::f32);
  EXPECT_EQ(file.tensor("column2.units").shape, (std::vector<int64_t>{5, 2}));
  EXPECT_EQ(file.tensor("statistic1.keys").dtype, DType::i64);
  EXPECT_EQ(file.tensor("statistic1.class_counts").shape, (std::vector<int64_t>{4, 1}));
  EXPECT_FALSE(parsed["schema"]["statistics"][0].contains("keys"));
}

// A path, bytes in memory and a container that was read already are one way.
TEST(CompactFile, AContainerThatWasReadAlreadyIsTheSame) {
  const std::string bytes = bytes_of(full_sample());
  const Container container = Container::parse(bytes, "m.l0gm");
  EXPECT_EQ(container.kind(), "table");
  const CompactFile file = read_compact(container), wanted = read_compact(bytes, "m.l0gm");
  EXPECT_EQ(file.manifest, wanted.manifest);
  EXPECT_EQ(file.manifest, container.manifest_text());
  expect_same_arrays(file.net, wanted.net);
}

TEST(CompactFile, OtherFilesAreNamedForWhatTheyAre) {
  EXPECT_EQ(error_of(ForgedFile::assembled("{}", "")),
            "'m.l0gm' is not a compact model; `l0gm compact RUN -o MODEL.l0gm` makes one of a run");
  EXPECT_EQ(unless_refused("", "not a valid safetensors file"), "");
  EXPECT_THROW(read_compact(std::filesystem::path("there/is/no.l0gm")), UserError);
  EXPECT_THROW(read_compact(std::filesystem::temp_directory_path()), UserError);
  ForgedFile file(bytes_of({}));
  file.manifest["format_version"] = 2;
  EXPECT_EQ(unless_refused(file.bytes(), "it is of format version 2, this program reads versions up to 1: use a newer l0gm"), "");
  file.manifest["format_version"] = 1;
  for (const std::string kind : {"graph", "text"}) {
    file.manifest["kind"] = kind;
    EXPECT_EQ(unless_refused(file.bytes(),
                             "it is a model of kind '" + kind + "', which needs LibTorch: `l0gm predict` serves it."),
              "");
  }
}

TEST(CompactFile, HashesTellDamage) {
  const std::string bytes = bytes_of(full_sample());
  const ForgedFile file(bytes);
  EXPECT_EQ(error_of(file.bytes()), "no error") << "the tools of this test";
  ForgedFile other = file;
  other.manifest["about"]["made_for"] = "others";
  EXPECT_EQ(unless_refused(other.bytes(false), "the manifest does not match the SHA-256 beside it"), "");
  EXPECT_EQ(error_of(other.bytes()), "no error") << "what stands in 'about' is free";
  other = file;
  other.tensors["base"][0] = static_cast<char>(other.tensors["base"][0] ^ 1);
  EXPECT_EQ(unless_refused(other.bytes(false), "the tensors do not match the SHA-256"), "");
  other = file;
  other.header["__metadata__"].erase("sha256");
  EXPECT_EQ(unless_refused(other.bytes(false), "the metadata has no SHA-256 of the tensors"), "")
      << "no hash is no way around it";
  other = file;
  other.header["__metadata__"]["more"] = "x";
  EXPECT_EQ(unless_refused(other.bytes(), "the metadata has an unknown 'more'"), "");
}

TEST(CompactFile, AFlippedBitInAnyByteIsFoundUnlessItWasABlank) {
  const std::string bytes = bytes_of({});
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    ASSERT_TRUE(bytes[i] == ' ' || error_of(damaged) != "no error") << "byte " << i << " was '" << bytes[i] << "'";
  }
}

TEST(CompactFile, EveryTruncationIsRefused) {
  const std::string bytes = bytes_of({});
  for (size_t size = 0; size < bytes.size(); size += 7) ASSERT_NE(error_of(bytes.substr(0, size)), "no error") << size;
  EXPECT_NE(error_of(bytes + "x"), "no error");
}

TEST(CompactFile, MessagesAreFitForATerminal) {
  ForgedFile file(bytes_of({}));
  file.manifest["\x1b[2J" + std::string(5000, 'n')] = 1;
  const std::string error = error_of(file.bytes());
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
  EXPECT_NE(error.find("'?[2Jnnn"), std::string::npos) << error;
  EXPECT_LT(error.size(), 800U);
}

TEST(CompactFile, WritingRefusesWhatCannotBeServed) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "m.l0gm";
  const CompactHeader header = sample_header({});
  TableNet<Matrix> net = sample_net(header.schema, {});
  net.wide.at(0, 0) = 1e300;
  EXPECT_THROW(write_compact(path, header, net), UserError) << "float32 cannot hold it";
  net.wide.at(0, 0) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(write_compact(path, header, net), UserError);
  net.wide = Matrix(1, 1);
  EXPECT_THROW(write_compact(path, header, net), std::logic_error);
  net = sample_net(header.schema, {});
  net.statistic_slots.pop_back();
  EXPECT_THROW(write_compact(path, header, net), std::logic_error);
  net = sample_net(header.schema, {});
  net.columns[0].known = 7;
  EXPECT_THROW(write_compact(path, header, net), std::logic_error);
  net = sample_net(header.schema, {.classes = 3});
  EXPECT_THROW(write_compact(path, header, net), std::logic_error);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_GT(write_compact(path, header, sample_net(header.schema, {})), 0);
}

}  // namespace
}  // namespace l0gm
