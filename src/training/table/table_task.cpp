#include "training/table/table_task.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "gate/tensor_values.h"
#include "metrics/mixture.h"

namespace l0gm {

namespace {
constexpr int64_t evaluation_block = 4096;
constexpr uint64_t sample_stream = 0x73616d706c65;  // the same sample whatever the seed: seeds are to agree
constexpr uint64_t order_stream = 0x6f72646572;     // numbers of their own for the order of rows

// The slopes of rows end with the log odds of trees. [rows, classes], float64 on the processor.
torch::Tensor tree_probabilities(const torch::Tensor& slopes, const TreeScores& trees) {
  const torch::Tensor log_odds = slopes.narrow(1, slopes.size(1) - trees.outputs, trees.outputs);
  return mean_probabilities(log_odds.to(torch::kCPU, torch::kFloat64).unsqueeze(1));
}

}  // namespace

void TableTask::add_split(Split split, EncodedTable table, torch::Device device, torch::Dtype dtype) {
  splits_.emplace(split, TableTensors(std::move(table), device, dtype));
}

void TableTask::set_soft_targets(const Predictions& predictions) {
  TableTensors& rows = splits_.at(Split::train);
  rows.set_soft_targets(at::tensor(predictions.probabilities, torch::kFloat64).view({rows.rows(), -1}));
}

int64_t TableTask::steps_per_epoch() const { return (splits_.at(Split::train).rows() + batch_ - 1) / batch_; }

std::shared_ptr<Batch> TableTask::training_batch(int64_t epoch, int64_t index) {
  const TableTensors& rows = splits_.at(Split::train);
  if (epoch != ordered_epoch_) {
    RandomStream random(seed_, mix_key(order_stream, static_cast<uint64_t>(epoch)));
    const std::vector<int64_t> order = random.permutation(rows.rows());
    order_ = at::tensor(order, torch::kInt64).to(rows.targets().device());
    ordered_epoch_ = epoch;
  }
  return rows.select(order_.slice(0, index * batch_, std::min(rows.rows(), (index + 1) * batch_)));
}

Predictions TableTask::predict(Model& model, const GateState& state, Split split) {
  Predictions found = predict_table(model, state, splits_.at(split), schema_);
  if (split == Split::valid && grown_) mix_in(tree_probabilities_, grown_->trees.share, found.probabilities);
  return found;
}

Predictions TableTask::predict_sample(Model& model, const GateState& state, Split split, int64_t examples) {
  const TableTensors& all = splits_.at(split);
  if (all.rows() <= examples) return predict(model, state, split);
  auto found = samples_.find({split, examples});
  if (found == samples_.end()) {
    const std::vector<int64_t> order = RandomStream(sample_stream).permutation(all.rows());
    const torch::Tensor rows = at::tensor(at::ArrayRef<int64_t>(order).slice(0, static_cast<size_t>(examples)), torch::kInt64);
    found = samples_.emplace(std::pair(split, examples), all.some(rows.to(all.targets().device()))).first;
  }
  return predict_table(model, state, found->second, schema_);
}

void TableTask::set_trees(GrownTrees grown, const EncodedTable& valid) {
  const torch::Tensor slopes = at::tensor(valid.slopes, torch::kFloat32).view({valid.rows(), valid.slope_slots});
  tree_probabilities_ = to_doubles(tree_probabilities(slopes, grown.trees));
  grown_ = std::move(grown);
}

void TableTask::complete(Model& model, const GateState& state, const RunFolder& folder) {
  if (!grown_) return;
  grown_->trees.share = 0;
  const Predictions net = predict(model, state, Split::valid);
  std::vector<double> weights;
  for (const int64_t row : net.rows) {
    if (!row_weights.empty()) weights.push_back(row_weights[static_cast<size_t>(row)]);
  }
  grown_->trees.share = share_of_second(net, tree_probabilities_, weights);
  if (grown_->trees.share == 0) {
    log_info(
        fmt::format("{} trees were grown, and validation rows gain nothing by them: they are left out", grown_->trees.trees()));
    grown_.reset();
    return;
  }
  log_info(fmt::format("{} trees over {} columns beside the net: {:.0f} % of the probabilities, as validation rows say",
                       grown_->trees.trees(), grown_->trees.inputs.size(), 100 * grown_->trees.share));
  folder.write_json(folder.trees(), grown_to_json(*grown_));
}

Predictions predict_table(Model& model, const GateState& state, const TableTensors& rows, const Schema& schema) {
  c10::InferenceMode inference;
  model.eval();
  Predictions result;
  result.classes = schema.classes;
  result.probabilities.reserve(static_cast<size_t>(rows.rows()) * schema.classes.size());
  for (int64_t begin = 0; begin < rows.rows(); begin += evaluation_block) {
    const auto batch = rows.range(begin, std::min(rows.rows(), begin + evaluation_block));
    GatePass pass = GatePass::evaluation(state, batch->example_ids);
    // In float64 from the logits on: probabilities sum to 1 as a file of them is read back, and figures are those of the file.
    torch::Tensor p = mean_probabilities(model.forward(*batch, pass).to(torch::kCPU, torch::kFloat64)).contiguous();
    if (!schema.trees.empty()) {
      p = ((1 - schema.trees.share) * p + schema.trees.share * tree_probabilities(batch->slopes, schema.trees)).contiguous();
    }
    const torch::Tensor targets = batch->targets.cpu(), ids = batch->example_ids.cpu().contiguous();
    result.probabilities.insert(result.probabilities.end(), p.data_ptr<double>(), p.data_ptr<double>() + p.numel());
    result.rows.insert(result.rows.end(), ids.data_ptr<int64_t>(), ids.data_ptr<int64_t>() + ids.numel());
    const torch::Tensor labels = targets.to(torch::kInt32).contiguous();
    result.labels.insert(result.labels.end(), labels.data_ptr<int32_t>(), labels.data_ptr<int32_t>() + labels.numel());
  }
  return result;
}

}  // namespace l0gm
