#include "runtime/compact_file.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <limits>

#include "base/files.h"
#include "base/hash.h"
#include "l0gm/error.h"
#include "runtime/forged_file.h"
#include "runtime/sample_model.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;
using nlohmann::json;

std::string bytes_of(const SampleOptions& options) {
  const TemporaryFolder folder;
  const CompactHeader header = sample_header(options);
  write_compact(folder.path() / "m.l0gm", header, sample_net(header.schema, options));
  return read_file(folder.path() / "m.l0gm");
}

std::string error_of(const std::string& bytes) {
  try {
    read_compact(bytes, "m.l0gm");
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

// "" when the file is refused with that text in the message.
std::string unless_refused(const std::string& bytes, const std::string& with) {
  const std::string error = error_of(bytes);
  const bool names_file = error.starts_with("'m.l0gm' ");
  return names_file && error.find(with) != std::string::npos ? "" : error + "   (wanted: " + with + ")";
}

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

TEST(CompactFile, OtherFilesAreNamedForWhatTheyAre) {
  EXPECT_EQ(error_of(ForgedFile::assembled("{}", "")),
            "'m.l0gm' is no compact model; `l0gm compact RUN -o MODEL.l0gm` makes one of a run");
  EXPECT_EQ(unless_refused("", "not a valid safetensors file"), "");
  EXPECT_THROW(read_compact(std::filesystem::path("there/is/no.l0gm")), UserError);
  EXPECT_THROW(read_compact(std::filesystem::temp_directory_path()), UserError);
  ForgedFile file(bytes_of({}));
  file.manifest["format_version"] = 2;
  EXPECT_EQ(unless_refused(file.bytes(), "it is of format version 2, this program reads versions up to 1: use a newer l0gm"), "");
  file.manifest["format_version"] = 1;
  file.manifest["kind"] = "graph";
  EXPECT_EQ(unless_refused(file.bytes(), "this is a graph model: `l0gm predict` serves it, with LibTorch"), "");
  file.manifest["kind"] = "text";
  EXPECT_EQ(unless_refused(file.bytes(), "it is a model of kind 'text', this program serves 'table'"), "");
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

struct Forgery {
  std::string what;
  std::function<void(json&)> change;
};

TEST(CompactFile, ForgedManifestsAreRefused) {
  const ForgedFile file(bytes_of(full_sample()));
  const auto set = [](const char* pointer, json value) {
    return [pointer, value](json& manifest) { manifest[json::json_pointer(pointer)] = value; };
  };
  const auto drop = [](const char* key) { return [key](json& manifest) { manifest.erase(key); }; };
  const std::vector<Forgery> forgeries = {
      {"found array, wanted an object", [](json& manifest) { manifest["net"] = json::array(); }},
      {"'more' is not known in format version 1", set("/more", 1)},
      {"'more' is not known in format version 1", set("/net/more", 1)},
      {"'more' is not known in format version 1", set("/net/columns/0/more", 1)},
      {"'more' is not known in format version 1", set("/net/grid/more", 1)},
      {"'more' is not known in format version 1", set("/net/gate/more", 1)},
      {"'more' is not known in format version 1", set("/schema/more", 1)},
      {"'more' is not known in format version 1", set("/schema/fields/2/more", 1)},
      {"'class_counts' is not known in format version 1",
       [](json& manifest) {
         manifest["schema"]["statistics"][0].update({{"keys", {2}}, {"counts", {3}}, {"class_counts", {1, 1, 1}}});
       }},
      {"'more' is not known in format version 1", set("/calibrator/more", 1)},
      {"'format_version' is absent", drop("format_version")},
      {"wanted a whole number from 1", set("/format_version", 0)},
      {"wanted a whole number from 1", set("/format_version", "1")},
      {"'kind' is absent", drop("kind")},
      {"'net' is absent", drop("net")},
      {"'about' is absent", drop("about")},
      {"'about' must be an object", set("/about", 3)},
      {"'delimiter' must be one ASCII character", set("/delimiter", ",,")},
      {"'delimiter' must be one ASCII character", set("/delimiter", "\n")},
      {"'weights' is 'float16', which this version does not know", set("/weights", "float16")},
      {"tensor 'wide' is of type F32, wanted BF16", set("/weights", "bfloat16")},
      {"its kind is 'magic', wanted one of", set("/calibrator/kind", "magic")},
      {"wanted a finite number above 0", set("/calibrator/temperature", -1)},
      {"its calibrator has 1 curves for 3 classes",
       set("/calibrator",
           {{"kind", "isotonic"}, {"curves", json::array({{{"logits", {0, 1}}, {"probabilities", {0.1, 0.9}}}})}})},
      {"it has 1 outputs, 3 classes need 3", set("/net/outputs", 1)},
      {"'members' is or holds 0", set("/net/members", 0)},
      {"'members' is or holds 1000000000000000000", set("/net/members", 1000000000000000000)},
      {"more than the 4194304 that are allowed", set("/net/hidden", 4194304)},
      {"tensor 'base' has the shape [1, 14], wanted [1, 16]", set("/net/hidden", 5)},
      {"it has layers behind a first one without units", set("/net/hidden", 0)},
      {"tensor 'layer1.weights' has the shape [8, 3], wanted [8, 4]", set("/net/layers/0", 4)},
      {"tensor 'layer2.weights' is absent", set("/net/layers/1", 4)},
      {"tensor 'output' has the shape [6, 3], wanted [6, 4]", [](json& manifest) { manifest["net"]["layers"] = json::array(); }},
      {"'layers' is or holds -1", set("/net/layers/0", -1)},
      {"it has 7 columns, the schema has 6",
       [](json& manifest) { manifest["net"]["columns"].push_back(manifest["net"]["columns"][0]); }},
      {"'folded' is number, wanted true or false", set("/net/columns/0/folded", 1)},
      {"tensor 'column2.units' is not of 5 rows and 3 units", set("/net/columns/2/units", 3)},
      {"there is no tensor 'column0.units'", set("/net/columns/0/units", 4194304)},
      {"'units' is or holds 4194305", set("/net/columns/2/units", 4194305)},
      {"it has 3 waves, wanted an even number", set("/net/columns/1/waves", 3)},
      {"it has 0 waves", set("/net/columns/1/waves", 0)},
      {"it has 4 waves", set("/net/columns/5/waves", 4)},
      {"tensor 'wide' has the shape", set("/net/columns/1/waves", 6)},
      {"tensor 'wide' has the shape", set("/net/columns/0/folded", false)},
      {"more than the 1048576 that are allowed", set("/net/grid/fields", 1048576)},
      {"'coordinates' is or holds 0", set("/net/grid/coordinates", 0)},
      {"it places 8 units, there are 9", [](json& manifest) { manifest["net"]["grid"]["places"].erase(0); }},
      {"two units lie at place 4", set("/net/grid/places/0", 4)},
      {"'places' is or holds 6", set("/net/grid/places/0", 6)},
      {"'places' is or holds -2", set("/net/grid/places/0", -2)},
      {"it has pairs or a CIN but no grid", [](json& manifest) { manifest["net"].erase("grid"); }},
      {"nothing reads its tensor 'pairs.coordinates'", set("/net/pairs/by_coordinate", false)},
      {"more than the 1048576 that are allowed", set("/net/cin/maps/0", 1048576)},
      {"tensor 'cin1.weights' has the shape [9, 2], wanted [9, 3]", set("/net/cin/maps/0", 3)},
      {"tensor 'cin.last' has the shape [6, 6], wanted [6, 9]",
       [](json& manifest) { manifest["net"]["cin"]["maps"] = json::array(); }},
      {"'gates' is or holds 0", set("/net/gate/gates", 0)},
      {"'of_unit' is or holds 2", set("/net/gate/gates", 2)},
      {"tensor 'gate.map_in' has the shape [9, 2], wanted [9, 3]", set("/net/gate/rank", 3)},
      {"'scale' must be above 0", set("/net/gate/scale", 0)},
      {"'gamma' below 'zeta'", set("/net/gate/gamma", 2)},
      {"'begin' holds 9 numbers", [](json& manifest) { manifest["net"]["gate"]["begin"].erase(9); }},
      {"'begin' does not rise from 0", set("/net/gate/begin/1", 3)},
      {"'begin' is or holds 10", set("/net/gate/begin/9", 10)},
      {"tensor 'column2.units' is of type F64, wanted F32", [](json& manifest) { manifest["net"].erase("gate"); }},
      {"tensor 'statistic2.keys' is absent",
       [](json& manifest) { manifest["schema"]["statistics"].push_back(manifest["schema"]["statistics"][0]); }},
      {"found 2, wanted one for each of 3 classes", [](json& manifest) { manifest["schema"]["class_rows"].erase(0); }},
      {"field 'colour and age odds' says the same as another", set("/schema/fields/9/statistic", 0)},
      {"'buckets' is or holds 0", set("/schema/fields/4/buckets", 0)},
      {"tensor 'column3.units' is not of 268435457 rows", set("/schema/fields/4/buckets", 268435456)},
      {"'tensors_sha256' is absent", drop("tensors_sha256")},
  };
  for (const Forgery& forgery : forgeries) {
    json manifest = file.manifest;
    forgery.change(manifest);
    EXPECT_EQ(unless_refused(file.bytes_with(manifest), forgery.what), "");
  }
}

TEST(CompactFile, SchemasThatAskForTooMuchAreRefused) {
  const ForgedFile file(bytes_of({}));
  json manifest = file.manifest;
  for (int i = 0; i < 66; ++i) {
    const std::string name = "m" + std::to_string(i);
    json& columns = manifest["schema"]["columns"];
    const json field = {{"name", name},  {"column", columns.size()}, {"kind", "multi"},
                        {"slots", 1024}, {"separator", "|"},         {"vocabulary", json::array()}};
    json& fields = manifest["schema"]["fields"];
    fields.insert(fields.begin() + 7, field);  // in front of the statistics
    columns.push_back({{"name", name}, {"type", "multi"}, {"missing", 0}});
  }
  EXPECT_EQ(unless_refused(file.bytes_with(manifest), "codes, 65536 are allowed"), "");
  manifest = file.manifest;
  for (int i = 0; i < 6; ++i) manifest["schema"]["missing_marks"].push_back(std::string(2'000'000, static_cast<char>('a' + i)));
  EXPECT_EQ(unless_refused(file.bytes_with(manifest), "more missing marks than is allowed"), "");
}

TEST(CompactFile, ManifestsMustBeStrictJson) {
  const ForgedFile file(bytes_of({}));
  const auto with_text = [&file](const std::string& text) {
    ForgedFile other = file;
    nlohmann::ordered_json& metadata = other.header["__metadata__"];
    metadata["l0gm"] = text;
    metadata["l0gm_sha256"] = sha256(text);
    std::string region;
    for (const auto& item : other.header.items()) {
      if (item.key() != "__metadata__") region += other.tensors.at(item.key());
    }
    return ForgedFile::assembled(other.header.dump(), region);
  };
  const std::string text = file.manifest.dump();
  EXPECT_EQ(error_of(with_text(text)), "no error");
  EXPECT_EQ(unless_refused(with_text(""), "does not begin with '{'"), "");
  EXPECT_EQ(unless_refused(with_text("[1]"), "does not begin with '{'"), "");
  EXPECT_EQ(unless_refused(with_text("{\"a\":"), "is not valid JSON"), "");
  EXPECT_EQ(unless_refused(with_text(text + "x"), "is not valid JSON"), "");
  EXPECT_EQ(unless_refused(with_text("{\"kind\":\"table\"," + text.substr(1)), "has 'kind' twice in one object"), "");
  std::string deep = "{\"about\":";
  for (int i = 0; i < 100000; ++i) deep += '[';
  EXPECT_EQ(unless_refused(with_text(deep), "nests deeper than 64 levels"), "");
  EXPECT_EQ(unless_refused(with_text("{\"format_version\":1e999}"), "is not valid JSON"), "");
}

TEST(CompactFile, ForgedTensorsAreRefused) {
  SampleOptions options = full_sample();
  options.weights = WeightType::int8;
  const ForgedFile file(bytes_of(options));
  const auto refused = [&file](const std::string& with, const std::function<void(ForgedFile&)>& change) {
    ForgedFile other = file;
    change(other);
    return unless_refused(other.bytes(), with);
  };
  const auto put = [](std::string& bytes, size_t index, auto value) {
    std::memcpy(bytes.data() + index * sizeof value, &value, sizeof value);
  };
  EXPECT_EQ(refused("tensor 'base' holds a number that is not finite",
                    [&](ForgedFile& f) { put(f.tensors["base"], 3, std::numeric_limits<float>::quiet_NaN()); }),
            "");
  EXPECT_EQ(refused("tensor 'gate.logits' holds a number that is not finite",
                    [&](ForgedFile& f) { put(f.tensors["gate.logits"], 1, -std::numeric_limits<double>::infinity()); }),
            "");
  for (const float scale : {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(refused("tensor 'wide.scales' holds a scale that is not a finite number above 0",
                      [&](ForgedFile& f) { put(f.tensors["wide.scales"], 2, scale); }),
              "");
  }
  EXPECT_EQ(refused("tensor 'wide.scales' is absent", [](ForgedFile& f) { f.header.erase("wide.scales"); }), "");
  EXPECT_EQ(refused("tensor 'output' is absent", [](ForgedFile& f) { f.header.erase("output"); }), "");
  EXPECT_EQ(refused("tensor 'output' is of type I32, wanted F32", [](ForgedFile& f) { f.header["output"]["dtype"] = "I32"; }),
            "");
  EXPECT_EQ(refused("tensor 'output' has the shape [3, 6], wanted [6, 3]",
                    [](ForgedFile& f) { f.header["output"]["shape"] = {3, 6}; }),
            "");
  EXPECT_EQ(refused("nothing reads its tensor 'more'",
                    [](ForgedFile& f) {
                      f.header["more"] = {{"dtype", "U8"}, {"shape", {1}}, {"data_offsets", {0, 0}}};
                      f.tensors["more"] = "x";
                    }),
            "");
  EXPECT_EQ(refused("'keys' do not increase", [&](ForgedFile& f) { put(f.tensors["statistic0.keys"], 0, int64_t{2}); }), "");
  EXPECT_EQ(refused("'keys' is or holds 5", [&](ForgedFile& f) { put(f.tensors["statistic0.keys"], 3, int64_t{5}); }), "");
  EXPECT_EQ(refused("'counts' is or holds 0", [&](ForgedFile& f) { put(f.tensors["statistic0.counts"], 0, int64_t{0}); }), "");
  EXPECT_EQ(refused("a class has more rows than its key",
                    [&](ForgedFile& f) { put(f.tensors["statistic0.class_counts"], 0, int64_t{9}); }),
            "");
  EXPECT_EQ(refused("tensor 'statistic0.class_counts' has 1 dimensions, wanted 2",
                    [](ForgedFile& f) { f.header["statistic0.class_counts"]["shape"] = {12}; }),
            "");
  options.weights = WeightType::bfloat16;
  ForgedFile halves(bytes_of(options));
  put(halves.tensors["wide"], 5, uint16_t{0x7F80});
  EXPECT_EQ(unless_refused(halves.bytes(), "tensor 'wide' holds a number that is not finite"), "");
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

TEST(CompactFile, FiniteIsToldByBits) {
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
