#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "base/hash.h"
#include "runtime/compact_refusal.h"

// Files whose hashes fit and whose content does not.
namespace l0gm {
namespace {

using namespace testing_tools;
using nlohmann::json;

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

// Two members of 4 hidden units, 3 outputs, a layer of 3; 9 units, 7 of them with a row.
TEST(CompactFile, ForgedBatchEnsemblesAreRefused) {
  const ForgedFile file(bytes_of(shared_sample()));
  const auto refused = [&](const std::string& with, const char* pointer, json value) {
    json manifest = file.manifest;
    manifest[json::json_pointer(pointer)] = std::move(value);
    return unless_refused(file.bytes_with(manifest), with);
  };
  EXPECT_EQ(refused("its ensemble is 'heads', wanted 'batch' or none", "/net/ensemble", "heads"), "");
  EXPECT_EQ(refused("'ensemble'", "/net/ensemble", true), "");
  EXPECT_EQ(refused("its members share layers, and it has none", "/net/hidden", 0), "");
  EXPECT_EQ(refused("tensor 'base' has the shape [1, 11], wanted [1, 15]", "/net/members", 3), "");
  EXPECT_EQ(refused("'members' is or holds 4097", "/net/members", 4097), "");
  EXPECT_EQ(refused("tensor 'layer1.weights' has the shape [4, 3], wanted [4, 4]", "/net/layers/0", 4), "");
  EXPECT_EQ(refused("tensor 'column2.units' is not of 5 rows and 3 units", "/net/columns/2/units", 3), "");
  json without = file.manifest;
  without["net"].erase("ensemble");
  EXPECT_EQ(unless_refused(file.bytes_with(without), "tensor 'base' has the shape [1, 11], wanted [1, 14]"), "");
  for (const std::string name :
       {"first.weights", "first.in", "first.out", "first.terms", "layer1.in", "layer1.out", "output.bias"}) {
    ForgedFile other = file;
    other.header[name]["shape"] = {other.header[name]["shape"][1], other.header[name]["shape"][0]};
    EXPECT_EQ(unless_refused(other.bytes(), "tensor '" + name + "' has the shape"), "");
    other = file;
    const float infinite = std::numeric_limits<float>::infinity();
    std::memcpy(other.tensors[name].data(), &infinite, sizeof infinite);
    EXPECT_EQ(unless_refused(other.bytes(), "tensor '" + name + "' holds a number that is not finite"), "");
    other = file;
    other.header.erase(name);
    EXPECT_EQ(unless_refused(other.bytes(), "tensor '" + name + "' is absent"), "");
  }
  const ForgedFile plain(bytes_of(full_sample()));
  json batch = plain.manifest;
  batch["net"]["ensemble"] = "batch";
  EXPECT_EQ(unless_refused(plain.bytes_with(batch), "tensor 'base' has the shape [1, 14], wanted [1, 11]"), "");
}

// Five trees of depth 2, 3 outputs.
TEST(CompactFile, TreesOfAnotherShapeAreRefused) {
  const ForgedFile file(bytes_of({.classes = 3, .trees = true}));
  ASSERT_EQ(error_of(file.bytes()), "no error");
  const std::vector<std::pair<std::string, std::vector<std::vector<int64_t>>>> shapes = {
      {"trees.start", {{1, 3}, {3, 1}}},
      {"trees.splits", {{20}, {5, 4}, {5, 2, 2, 1}, {2, 5, 2}, {10, 1, 2}}},
      {"trees.leaves", {{60}, {5, 3, 4}, {20, 3}, {4, 5, 3}}}};
  for (const auto& [name, others] : shapes) {
    for (const std::vector<int64_t>& shape : others) {
      ForgedFile other = file;
      other.header[name]["shape"] = shape;
      EXPECT_EQ(unless_refused(other.bytes(), "tensor '" + name + "' has the shape ["), "") << json(shape);
    }
    ForgedFile other = file;
    other.header.erase(name);
    EXPECT_EQ(unless_refused(other.bytes(), "tensor '" + name + "' is absent"), "");
  }
  // Numbers that are too few are refused with the schema.
  ForgedFile fewer = file;
  fewer.header["trees.splits"]["shape"] = {4, 2, 2};
  fewer.tensors["trees.splits"].resize(4 * 2 * 2 * sizeof(int32_t));
  EXPECT_EQ(unless_refused(fewer.bytes(), "which do not fit depth 2 and 3 outputs"), "");
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
                    [](ForgedFile& f) {
                      f.header["output"]["shape"] = {3, 6};
                    }),
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

}  // namespace
}  // namespace l0gm
