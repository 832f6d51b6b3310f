#include "training/table/table_task.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "data/table/column_search.h"
#include "gate/gate_figures.h"
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
  if (split == Split::valid && tree_share_ > 0) mix_in(tree_probabilities_, tree_share_, found.probabilities);
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

std::optional<std::vector<uint8_t>> TableTask::better_units(const std::vector<uint8_t>& open, const std::atomic<bool>& stop) {
  if (!trees_.refit_columns || open.size() != schema_.columns.size()) return std::nullopt;
  trees_.grower->end_early_when(stop);
  const std::optional<ColumnMask> found = better_columns(*trees_.grower, open);
  if (!found) return std::nullopt;
  std::vector<std::string> closed, opened;
  for (size_t c = 0; c < open.size(); ++c) {
    if (open[c] != (*found)[c]) (open[c] != 0 ? closed : opened).push_back(schema_.columns[c].name);
  }
  log_info(fmt::format("{} in place of {}: trees that are grown on these columns alone have a lower loss of validation rows",
                       join(opened, ", "), join(closed, ", ")));
  return found;
}

// In the order of `rows`.
std::vector<double> TableTask::probabilities_of(const TreeGrowth& growth, const std::vector<int64_t>& rows) const {
  const int64_t outputs = growth.grown.trees.outputs;
  const std::vector<int64_t>& numbers = trees_.grower->valid_rows();
  std::vector<float> log_odds;
  for (const int64_t row : rows) {
    const auto place = (std::lower_bound(numbers.begin(), numbers.end(), row) - numbers.begin()) * outputs;
    const auto first = growth.valid_log_odds.begin() + place;
    log_odds.insert(log_odds.end(), first, first + outputs);
  }
  const auto count = static_cast<int64_t>(rows.size());
  return to_doubles(mean_probabilities(at::tensor(log_odds, torch::kFloat64).view({count, 1, outputs})));
}

// What trees may read: columns alone, or statistics too, which tell much on some tables and are learned by heart on others. What
// the gate has closed is not read by trees either.
std::vector<TreeChoice> TableTask::tree_choices(Model& model, const GateState& state) const {
  TreeChoice columns, all;
  if (trees_.units_are_columns) {
    for (const double open : to_doubles(open_units(*model.sites()[0], state))) columns.columns.push_back(open > 0 ? 1 : 0);
  }
  all.columns = columns.columns;
  const torch::Tensor open = model.open_dimensions(state);  // statistics come last, one dimension each
  for (int64_t d = open.numel() - schema_.statistic_slots(); d < open.numel(); ++d)
    all.statistics.push_back(open[d].item<bool>() ? 1 : 0);
  columns.statistics.assign(all.statistics.size(), 0);
  std::vector<TreeChoice> choices = {columns};
  if (all.statistics != columns.statistics) choices.push_back(all);
  return choices;
}

bool TableTask::complete(Model& model, const GateState& state, const RunFolder& folder, const std::atomic<bool>& stop) {
  if (!trees_.beside) return true;
  trees_.grower->end_early_when(stop);
  const Predictions net = predict(model, state, Split::valid);
  std::vector<double> weights;
  for (const int64_t row : net.rows) {
    if (!row_weights.empty()) weights.push_back(row_weights[static_cast<size_t>(row)]);
  }
  std::optional<TreeGrowth> best;
  bool any = false;
  Mixture found;
  for (const TreeChoice& choice : tree_choices(model, state)) {
    std::optional<TreeGrowth> growth = trees_.grower->grow(choice);
    if (stop) return false;
    if (!growth) continue;
    any = true;
    std::vector<double> said = probabilities_of(*growth, net.rows);
    const Mixture mixture = best_mixture(net, said, weights);
    if (mixture.gain <= found.gain) continue;
    found = mixture;
    tree_probabilities_ = std::move(said);
    best = std::move(growth);
  }
  if (!best) {
    log_info(any ? "no trees beside the net: validation rows gain nothing by them"
                 : "no trees beside the net: they tell next to nothing of the label, or would take minutes to grow");
    return true;
  }
  TreeScores& trees = best->grown.trees;
  trees.share = tree_share_ = found.share;
  const auto statistics =
      std::count_if(trees.inputs.begin(), trees.inputs.end(), [](const TreeInput& input) { return input.is_statistic(); });
  log_info(fmt::format(
      "{} trees over {} columns and {} statistics beside the net: {:.0f} % of the probabilities, as validation rows say",
      trees.trees(), std::ssize(trees.inputs) - statistics, statistics, 100 * tree_share_));
  folder.write_json(folder.trees(), grown_to_json(best->grown));
  return true;
}

Predictions predict_table(Model& model, const GateState& state, const TableTensors& rows, const Schema& schema, bool with_trees) {
  c10::InferenceMode inference;
  model.eval();
  Predictions result;
  result.classes = schema.classes;
  result.probabilities.reserve(static_cast<size_t>(rows.rows()) * schema.classes.size());
  const bool mixes = with_trees && !schema.trees.empty();
  std::vector<double> of_trees;
  for (int64_t begin = 0; begin < rows.rows(); begin += evaluation_block) {
    const auto batch = rows.range(begin, std::min(rows.rows(), begin + evaluation_block));
    GatePass pass = GatePass::evaluation(state, batch->example_ids);
    // In float64 from the logits on: probabilities sum to 1 as a file of them is read back, and figures are those of the file.
    const torch::Tensor p = mean_probabilities(model.forward(*batch, pass).to(torch::kCPU, torch::kFloat64)).contiguous();
    const torch::Tensor targets = batch->targets.cpu(), ids = batch->example_ids.cpu().contiguous();
    result.probabilities.insert(result.probabilities.end(), p.data_ptr<double>(), p.data_ptr<double>() + p.numel());
    if (mixes) {
      const torch::Tensor said = tree_probabilities(batch->slopes, schema.trees).contiguous();
      of_trees.insert(of_trees.end(), said.data_ptr<double>(), said.data_ptr<double>() + said.numel());
    }
    result.rows.insert(result.rows.end(), ids.data_ptr<int64_t>(), ids.data_ptr<int64_t>() + ids.numel());
    const torch::Tensor labels = targets.to(torch::kInt32).contiguous();
    result.labels.insert(result.labels.end(), labels.data_ptr<int32_t>(), labels.data_ptr<int32_t>() + labels.numel());
  }
  if (mixes) mix_in(of_trees, schema.trees.share, result.probabilities);
  return result;
}

}  // namespace l0gm
