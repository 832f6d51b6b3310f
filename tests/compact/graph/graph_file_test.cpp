#include "compact/graph/graph_file.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "base/files.h"
#include "base/hash.h"
#include "base/safetensors.h"
#include "l0gm/error.h"
#include "runtime/container.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using nlohmann::json;

// A narrowed model as it comes out of compaction, with untrained numbers.
GraphHeader small_header(ConvolutionKind kind) {
  GraphHeader header;
  header.net.encoder.attributes = 5;
  header.net.encoder.widths = {6, 3};
  header.net.encoder.kind = kind;
  header.net.encoder.convolution.heads = 2;
  header.net.encoder.convolution.aggregate = Aggregate::pool;
  header.net.encoder.norm = Norm::batch;
  header.net.encoder.residual = Residual::linear;
  header.net.encoder.narrowed.resize(2);
  if (kind == ConvolutionKind::gat) header.net.encoder.narrowed[1].heads = {1, 2};
  if (kind == ConvolutionKind::sage) header.net.encoder.narrowed[1].pool = 4;
  header.net.members = 2;
  header.net.classes = 3;
  header.classes = {"a", "b", "c"};
  header.inputs.scaling = {FeatureScale::rows, 9, {0, 1, 2, 4, 6, 7, 8}, {}, {}};
  header.inputs.selected = {0, 2, 3, 5, 6};
  header.inputs.undirected = false;
  header.inputs.inference_rows = 17;
  header.calibrator.kind = CalibratorKind::temperature;
  header.calibrator.temperature = 1.5;
  header.about = {{"dataset", "x"}};
  return header;
}

TEST(GraphFile, WhatIsReadIsWhatWasWritten) {
  const TemporaryFolder folder;
  for (const ConvolutionKind kind :
       {ConvolutionKind::linear, ConvolutionKind::gcn, ConvolutionKind::sage, ConvolutionKind::gat}) {
    GraphHeader header = small_header(kind);
    if (kind == ConvolutionKind::gcn) header.net.selected = {0, 2};
    at::manual_seed(3);
    const auto model = make_model(header.net);
    int64_t parameters = 0;
    for (const torch::Tensor& parameter : model->parameters()) parameters += parameter.numel();
    EXPECT_EQ(header.net.numbers(), parameters);
    const auto path = folder.path() / "m.l0gm";
    const int64_t bytes = write_graph_model(path, header, *model);
    EXPECT_EQ(bytes, static_cast<int64_t>(std::filesystem::file_size(path)));
    const GraphFile file = read_graph_model(path);
    EXPECT_EQ(Container::kind_of(path), "graph");
    EXPECT_EQ(file.tensors_sha256, Container::read(path).tensors_sha256());
    EXPECT_EQ(file.header.net.to_json(), header.net.to_json());
    EXPECT_EQ(file.header.inputs.to_json(), header.inputs.to_json());
    EXPECT_EQ(file.header.classes, header.classes);
    EXPECT_EQ(file.header.calibrator.to_json(), header.calibrator.to_json());
    EXPECT_EQ(file.header.about, header.about);
    const TensorMap before = model->state(), after = file.model->state();
    ASSERT_EQ(before.size(), after.size());
    for (const auto& [name, tensor] : before) EXPECT_TRUE(at::equal(tensor, after.at(name))) << name;
  }
}

// A head that scores pairs of nodes.
GraphHeader link_header(LinkScorer scorer, int64_t hidden) {
  GraphHeader header = small_header(ConvolutionKind::gcn);
  header.net.members = 1;
  header.net.classes = 2;
  header.net.scorer = scorer;
  header.net.scorer_hidden = hidden;
  header.classes = {"unlinked", "linked"};
  return header;
}

TEST(GraphFile, ScorersOfPairsAreReadBack) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "m.l0gm";
  for (const auto& [scorer, hidden] : {std::pair{LinkScorer::dot, 0}, {LinkScorer::mlp, 4}}) {
    const GraphHeader header = link_header(scorer, hidden);
    at::manual_seed(4);
    const auto model = make_model(header.net);
    int64_t parameters = 0;
    for (const torch::Tensor& parameter : model->parameters()) parameters += parameter.numel();
    EXPECT_EQ(header.net.numbers(), parameters);
    write_graph_model(path, header, *model);
    const GraphFile file = read_graph_model(path);
    EXPECT_EQ(file.header.net.scorer, scorer);
    EXPECT_EQ(file.header.net.scorer_hidden, hidden);
    EXPECT_EQ(file.header.net.to_json(), header.net.to_json());
    const TensorMap before = model->state(), after = file.model->state();
    ASSERT_EQ(before.size(), after.size());
    for (const auto& [name, tensor] : before) EXPECT_TRUE(at::equal(tensor, after.at(name))) << name;
  }
}

TEST(GraphFile, EveryDamageIsRefused) {
  const TemporaryFolder folder;
  const GraphHeader header = small_header(ConvolutionKind::gat);
  const auto path = folder.path() / "m.l0gm";
  write_graph_model(path, header, *make_model(header.net));
  const std::string good = read_file(path);
  for (size_t i = 0; i < good.size(); i += 3) {
    std::string bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ (1 << (i % 8)));
    folder.write("bad.l0gm", bytes);
    EXPECT_THROW(read_graph_model(folder.path() / "bad.l0gm"), UserError) << "byte " << i;
    EXPECT_NO_THROW(Container::kind_of(folder.path() / "bad.l0gm"));
  }
  for (size_t size = 0; size < good.size(); size += 41) {
    folder.write("short.l0gm", good.substr(0, size));
    EXPECT_THROW(read_graph_model(folder.path() / "short.l0gm"), UserError) << size << " bytes";
    EXPECT_FALSE(Container::kind_of(folder.path() / "short.l0gm") == "graph" && size < 100);
  }
  EXPECT_EQ(Container::kind_of(folder.path() / "nothing"), "");
}

// A file with another manifest or other tensors, all hashes right.
void forge(const std::filesystem::path& from, const std::filesystem::path& to,
           const std::function<void(json&, std::map<std::string, TensorBytes>&)>& change) {
  const SafetensorsFile file(from);
  json manifest = json::parse(file.metadata().at("l0gm"));
  std::map<std::string, TensorBytes> tensors = file.tensors();
  change(manifest, tensors);
  manifest["tensors_sha256"] = digest_of_tensors(tensors);
  const std::string text = manifest.dump();
  write_safetensors(to, tensors, {{"l0gm", text}, {"l0gm_sha256", sha256(text)}});
}

TEST(GraphFile, ForgedManifestsAreRefusedBeforeTheyCostMemory) {
  const TemporaryFolder folder;
  const GraphHeader header = small_header(ConvolutionKind::gat);
  const auto path = folder.path() / "m.l0gm", bad = folder.path() / "bad.l0gm";
  write_graph_model(path, header, *make_model(header.net));
  using Tensors = std::map<std::string, TensorBytes>;
  forge(path, bad, [](json&, Tensors&) {});
  EXPECT_NO_THROW(read_graph_model(bad));
  const std::vector<std::pair<std::string, std::function<void(json&, Tensors&)>>> forgeries = {
      {"numbers, its net has", [](json& m, Tensors&) { m["net"]["layers"][0]["width"] = 131072; }},
      {"whole number", [](json& m, Tensors&) { m["net"]["layers"][0]["width"] = int64_t{1} << 40; }},
      {"whole number", [](json& m, Tensors&) { m["net"]["members"] = 0; }},
      {"layers", [](json& m, Tensors&) { m["net"]["layers"] = json::array(); }},
      {"'heads' are not", [](json& m, Tensors&) { m["net"]["layers"][1]["heads"] = {2, 2}; }},
      {"'heads' are not", [](json& m, Tensors&) { m["net"]["layers"][1]["heads"] = {3}; }},
      {"another shape", [](json&, Tensors& t) { t["encoder.residual0"].shape = {6, 5}; }},
      {"does not know", [](json& m, Tensors&) { m["net"]["kind"] = "tree"; }},
      {"does not know", [](json& m, Tensors&) { m["net"]["layers"][1]["norm"] = "odd"; }},
      {"'strange'", [](json& m, Tensors&) { m["net"]["strange"] = 1; }},
      {"'strange'", [](json& m, Tensors&) { m["strange"] = 1; }},
      {"'strange'", [](json& m, Tensors&) { m["inputs"]["strange"] = 1; }},
      {"reads 5 attributes, its inputs give 4", [](json& m, Tensors&) { m["inputs"]["selected"] = {0, 1, 2, 3}; }},
      {"does not ascend", [](json& m, Tensors&) { m["inputs"]["selected"] = {0, 1, 1, 2, 3}; }},
      {"does not ascend", [](json& m, Tensors&) { m["net"]["selected"] = {2, 1, 0}; }},
      {"names for", [](json& m, Tensors&) { m["inputs"]["names"] = {"one"}; }},
      {"scaling", [](json& m, Tensors&) { m["inputs"]["scaling"]["kept"] = {5, 4}; }},
      {"undirected", [](json& m, Tensors&) { m["inputs"]["undirected"] = 1; }},
      {"classes", [](json& m, Tensors&) { m["classes"] = {"a"}; }},
      {"numbers, its net has", [](json& m, Tensors&) { m["classes"] = {"a", "b"}; }},
      {"format version 9", [](json& m, Tensors&) { m["format_version"] = 9; }},
      {"kind 'table'", [](json& m, Tensors&) { m["kind"] = "table"; }},
      {"'int8'", [](json& m, Tensors&) { m["weights"] = "int8"; }},
      {"curves", [](json& m, Tensors&) { m["calibrator"] = {{"kind", "isotonic"}, {"curves", json::array()}}; }},
      {"'about'", [](json& m, Tensors&) { m["about"] = 1; }},
      {"absent", [](json& m, Tensors&) { m.erase("net"); }},
      {"lacks 'head.bias'", [](json&, Tensors& t) { t["head.bios"] = t["head.bias"], t.erase("head.bias"); }},
      {"numbers, its net has", [](json&, Tensors& t) { t.erase("head.bias"); }},
  };
  for (const auto& [words, change] : forgeries) {
    forge(path, bad, change);
    const std::string message = message_of<UserError>([&] { read_graph_model(bad); });
    EXPECT_NE(message.find(words), std::string::npos) << words << ": " << message;
    EXPECT_NE(message.find("bad.l0gm"), std::string::npos) << message;
  }
  std::vector<float> infinite(6, std::numeric_limits<float>::infinity());
  forge(path, bad, [&](json&, Tensors& t) { t["head.bias"].bytes = {reinterpret_cast<const char*>(infinite.data()), 24}; });
  EXPECT_NE(message_of<UserError>([&] { read_graph_model(bad); }).find("not finite"), std::string::npos);
}

TEST(GraphFile, ForgedScorersAreRefused) {
  const TemporaryFolder folder;
  const GraphHeader header = link_header(LinkScorer::mlp, 4);
  const auto path = folder.path() / "m.l0gm", bad = folder.path() / "bad.l0gm";
  write_graph_model(path, header, *make_model(header.net));
  using Tensors = std::map<std::string, TensorBytes>;
  const std::vector<std::pair<std::string, std::function<void(json&, Tensors&)>>> forgeries = {
      {"numbers, its net has", [](json& m, Tensors&) { m["net"].erase("scorer"); }},
      {"numbers, its net has", [](json& m, Tensors&) { m["net"]["scorer"]["hidden"] = 131072; }},
      {"numbers, its net has", [](json& m, Tensors&) { m["net"]["scorer"] = {{"kind", "dot"}, {"hidden", 0}}; }},
      {"whole number", [](json& m, Tensors&) { m["net"]["scorer"]["hidden"] = 0; }},
      {"whole number", [](json& m, Tensors&) { m["net"]["scorer"]["hidden"] = int64_t{1} << 40; }},
      {"does not know", [](json& m, Tensors&) { m["net"]["scorer"]["kind"] = "tree"; }},
      {"'strange'", [](json& m, Tensors&) { m["net"]["scorer"]["strange"] = 1; }},
      {"wanted an object", [](json& m, Tensors&) { m["net"]["scorer"] = 3; }},
      {"has 3 classes, wanted 2", [](json& m, Tensors&) { m["classes"] = {"a", "b", "c"}; }},
  };
  for (const auto& [words, change] : forgeries) {
    forge(path, bad, change);
    const std::string message = message_of<UserError>([&] { read_graph_model(bad); });
    EXPECT_NE(message.find(words), std::string::npos) << words << ": " << message;
  }
}

}  // namespace
}  // namespace l0gm
