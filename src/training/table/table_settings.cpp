#include "training/table/table_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace l0gm {
namespace {

// The power of two nearest to `value`, from `least` to `most`.
int64_t power_of_two(double value, int64_t least, int64_t most) {
  return std::clamp(int64_t{1} << std::max(0, static_cast<int>(std::lround(std::log2(std::max(1.0, value))))), least, most);
}

// Short tables need steps that are many enough, long ones steps that are large enough.
int64_t batch_for(int64_t rows) {
  const auto count = static_cast<double>(rows);
  return rows <= 250'000 ? power_of_two(count / 60, 32, 256) : power_of_two(count / 1000, 256, 4096);
}

// About equally many steps in a short table as in one of 4,000 rows; beyond 100,000 rows fewer passes.
int64_t epochs_for(int64_t rows, Quality quality) {
  const auto count = static_cast<double>(rows);
  const double of_short = 30 * std::sqrt(4000 / std::max(count, 1.0)), of_long = 3e6 / std::max(count, 1.0);
  const double epochs = rows < 4000 ? std::min(of_short, 90.0) : std::clamp(of_long, 4.0, 30.0);
  const double share = quality == Quality::fast ? 0.4 : quality == Quality::best ? 2 : 1;
  return std::max<int64_t>(3, std::lround(share * epochs));
}

// Every column adds to the first layer and to the pairs: with many of them, steps of one size for each change the logits too
// much.
double learning_rate_for(int64_t columns) {
  return std::clamp(0.04 / static_cast<double>(std::max<int64_t>(columns, 1)), 0.0002, 0.002);
}

// With fewer rows the net does better without linear terms and pairs, and members, which take seconds here, level out what each
// of them learned by chance. With a gate that was far worse on some tables.
constexpr int64_t rows_for_every_branch = 4000;
// What a dense model of few rows has learned is more than their labels tell a gate.
constexpr int64_t rows_for_labels_alone = 5000;
constexpr int64_t most_columns_for_pairs = 500;  // weights of pairs, and the work on them, grow with the square

}  // namespace

std::vector<TableSetting> table_settings(const TableFacts& facts, Quality quality, int64_t epochs) {
  const bool few_rows = facts.rows < 2000;
  // A gate has many more epochs to overfit in than a dense model, which ends when its loss stops falling.
  const char* interface_dropout = facts.gates_dimensions ? (facts.rows < 5000 ? "0.4" : "0.2") : (few_rows ? "0.2" : "0.1");
  if (epochs == 0) epochs = epochs_for(facts.rows, quality);
  std::vector<TableSetting> settings = {{"train.batch", std::to_string(batch_for(facts.rows))},
                                        {"train.epochs", std::to_string(epochs)},
                                        {"train.patience", std::to_string(std::max<int64_t>(5, (epochs + 2) / 3))},
                                        {"train.lr", fmt::format("{:.2g}", learning_rate_for(facts.columns))},
                                        {"model.dropout", few_rows ? "0.3" : "0.2"},
                                        {"model.interface_dropout", interface_dropout}};
  if (facts.rows < rows_for_every_branch && facts.dense) {
    settings.push_back({"model.name", "mlp"});
    if (facts.shares_layers) settings.push_back({"model.members", "8"});
  } else if (facts.columns > most_columns_for_pairs) {
    settings.push_back({"model.name", "wide-deep"});
  }
  // What columns tell together is learned late, and has to be known before the first one is closed.
  if (facts.measures_columns) settings.push_back({"schedule.anneal_until", "0.7"});
  return settings;
}

bool is_taught_by_dense_model(const TableFacts& facts, Quality quality) {
  return facts.may_be_taught && facts.rows < rows_for_labels_alone && quality != Quality::fast;
}

std::vector<std::string> describe_table_settings() {
  return {
      "| `train.batch` | a sixtieth of the training rows, from `32` to `256`; beyond 250,000 rows a thousandth, to `4096`; a "
      "power of two |",
      "| `train.epochs` | `30` from 4,000 to 100,000 training rows; fewer rows: more, to `90` for 450; more rows: 3,000,000 rows "
      "altogether, at least `4`. `fast`: 0.4 times as many, `best`: twice |",
      "| `train.patience` | a third of `train.epochs`, at least `5` |",
      "| `train.lr` | `0.002` up to 20 columns, beyond them `0.04` divided by their number, at least `0.0002` |",
      "| `model.dropout` | `0.2`; below 2,000 training rows `0.3` |",
      "| `model.interface_dropout` | `0.1`; below 2,000 training rows `0.2`. With a gate on dimensions `0.2`; below 5,000 rows "
      "`0.4` |",
      "| `model.name` | `mlp` below 4,000 training rows without a gate (`gate.unit = none`); else beyond 500 columns "
      "`wide-deep`, else as above |",
      "| `model.members` | `8` there, if the model has hidden layers that members share; else `1` |",
      "| `table.rows_per_input` | `2` below 5,000 training rows where that lowers the validation loss by more than half of its "
      "standard error (`train.trials`; not for `fast`); else as above |",
      "| `schedule.anneal_until` | `0.7` where columns are measured (`gate.worth`), else as above |",
      "| `distill.dense` | `on`, with `distill.weight = 0.7`, below 5,000 training rows with a gate on dimensions, where nobody "
      "named `model.name`, a teacher or a start; not for `fast`; else `off` |"};
}

}  // namespace l0gm
