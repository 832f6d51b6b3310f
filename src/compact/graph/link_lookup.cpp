#include "compact/graph/link_lookup.h"

#include <ATen/Functions.h>
#include <fmt/format.h>

#include <numeric>

#include "base/random.h"
#include "compact/graph/node_lookup.h"
#include "compact/matrix_rows.h"
#include "compact/table/table_compaction.h"
#include "heads/link.h"
#include "l0gm/error.h"
#include "runtime/compact_file.h"
#include "runtime/probabilities.h"
#include "runtime/reference_logits.h"
#include "training/graph/link_task.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr int64_t most_pairs = 20'000;  // that parity is proven on
constexpr int32_t first_code = 2;       // 0 and 1: missing, unknown
constexpr uint64_t pair_seed = 0;

}  // namespace

LinkLookupCompaction::LinkLookupCompaction(const fs::path& run, const std::string& which)
    : GraphCompaction(run), nodes_(nodes_named(trained_.raw, which)) {
  if (dynamic_cast<const LinkHead&>(trained_.exact.model->head()).scorer() != LinkScorer::dot) {
    throw UserError(
        fmt::format("--nodes: look-ups of links are for link.scorer = dot so far, and {} was trained with mlp. Leave --nodes out "
                    "for a file that `l0gm predict` serves with LibTorch.",
                    run.string()));
  }
  RandomStream random(pair_seed);
  const auto nodes = static_cast<uint64_t>(nodes_.size());
  for (int64_t i = 0; i < most_pairs; ++i) {
    pairs_.push_back({static_cast<int32_t>(random.below(nodes)), static_cast<int32_t>(random.below(nodes))});
  }
  checked_.rows = std::ssize(pairs_);
  checked_.noun = "pairs of nodes";
  checked_.where = [this](int64_t row) {
    const Link& pair = pairs_[static_cast<size_t>(row)];
    const auto name = [this](int32_t place) { return trained_.raw.node_name(nodes_[static_cast<size_t>(place)]); };
    return fmt::format("the pair {}, {}", name(pair.first), name(pair.second));
  };
  schema_ = lookup_schema(trained_, nodes_, {"from", "to"});
  fold();
}

// Two fields of a factorisation machine: <e_from, e_to * weight> + bias.
void LinkLookupCompaction::fold() {
  TensorMap weights = trained_.narrowed.model->weights();
  const torch::Tensor channel_weight = weights.at("head.weight").detach(), bias = weights.at("head.bias").detach();
  const torch::Tensor embeddings = node_embeddings(trained_, nodes_);
  const int64_t channels = embeddings.size(1);
  net_.members = net_.outputs = 1;
  net_.columns = columns_of(schema_);
  for (NetColumn& column : net_.columns) column.units = channels;
  net_.wide = Matrix(net_.arrange(), net_.wide_columns());
  net_.base = Matrix(1, net_.wide_columns());
  copy_rows(bias.view({1, 1}), net_.base, 0);
  for (const torch::Tensor& table : {embeddings, embeddings * channel_weight}) {
    copy_rows(table, net_.unit_tables.emplace_back(first_code + std::ssize(nodes_), channels), first_code);
  }
  net_.grid_fields = 2;
  net_.grid_coordinates = channels;
  for (int64_t unit = 0; unit < 2 * channels; ++unit) net_.units[static_cast<size_t>(unit)].place = unit;
  net_.pairs.present = net_.pairs.weighted = true;
  net_.pairs.weights = Matrix(1, 1);
  net_.pairs.weights.at(0, 0) = 1;
}

std::vector<double> LinkLookupCompaction::trained(Precision precision) {
  GraphRun& run = precision == Precision::float64 ? trained_.exact : trained_.single;
  std::vector<Link> pairs;
  for (const Link& pair : pairs_) {
    const auto node = [this](int32_t place) { return static_cast<int32_t>(nodes_[static_cast<size_t>(place)]); };
    pairs.push_back({node(pair.first), node(pair.second)});
  }
  const int64_t rows = inference_rows_for(trained_.scaled, run.config.graph.inference_rows);
  return predict_pairs(*run.model, run.gate_state, trained_.scaled, pairs, rows, torch::kCPU, dtype_of(precision)).probabilities;
}

std::vector<double> LinkLookupCompaction::folded() {
  std::vector<double> probabilities(pairs_.size() * 2);
  for (size_t i = 0; i < pairs_.size(); ++i) {
    const int32_t codes[] = {first_code + pairs_[i].first, first_code + pairs_[i].second};
    const float slopes[] = {0, 0};
    double logit = 0;
    reference_logits(net_, codes, slopes, &logit);
    mean_probabilities(&logit, 1, 1, probabilities.data() + 2 * i);
  }
  return probabilities;
}

std::vector<double> LinkLookupCompaction::served(const fs::path& file) {
  TextTable table({"from", "to"});
  const std::vector<std::string>& names = schema_.fields[0].vocabulary;
  for (const Link& pair : pairs_)
    table.add_row({names[static_cast<size_t>(pair.first)], names[static_cast<size_t>(pair.second)]});
  std::vector<int64_t> rows(pairs_.size());
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return served_probabilities(file, {"look-up", table, rows});
}

nlohmann::json LinkLookupCompaction::about() {
  nlohmann::json about = GraphCompaction::about();
  about["lookup"] = {{"nodes", nodes_.size()}, {"stored", "embeddings"}};
  return about;
}

int64_t LinkLookupCompaction::write(const fs::path& file, WeightType weights, const Calibrator& calibrator,
                                    const nlohmann::json& about) {
  return write_compact(file, {schema_, weights, calibrator, ',', about}, net_);
}

nlohmann::json LinkLookupCompaction::result(const nlohmann::json& about) const {
  nlohmann::json result = GraphCompaction::result(about);
  const auto dense = std::ssize(nodes_) * about["dimensions"].get<int64_t>() * static_cast<int64_t>(sizeof(float));
  result.update(
      {{"kind", "look-up"}, {"nodes", nodes_.size()}, {"stored", "embeddings"}, {"columns", 2}, {"bytes_dense", dense}});
  return result;
}

}  // namespace l0gm
