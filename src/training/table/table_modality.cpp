#include "training/table/table_modality.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/csv.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "data/catalogue.h"
#include "data/table/fit.h"
#include "data/table/labels.h"
#include "data/table/perturb.h"
#include "data/table/source.h"
#include "data/table/statistics.h"
#include "data/table/tree_grower.h"
#include "l0gm/error.h"
#include "l0gm/gate_control.h"
#include "model/table_model.h"
#include "training/table/table_run.h"
#include "training/table/table_settings.h"
#include "training/table/table_task.h"
#include "training/table/table_teaching.h"

namespace l0gm {

namespace {

constexpr int64_t few_validation_rows = 50;

TableModelOptions options_of(const Config& config) {
  return {config.model, config.fm, config.cin, config.train.class_weights == ClassWeights::balanced, fitted_prices()};
}

// Of the training rows, 1 on average, so that learning rate and price mean what they mean without.
std::vector<float> weights_of(const TableDataset& data) {
  std::vector<float> weights;
  if (data.weights.empty()) return weights;
  double sum = 0;
  for (const int64_t row : data.train) sum += data.weights[static_cast<size_t>(row)];
  const double scale = static_cast<double>(data.train.size()) / sum;
  for (const int64_t row : data.train) weights.push_back(static_cast<float>(data.weights[static_cast<size_t>(row)] * scale));
  return weights;
}

// A budget of columns is one of columns: statistics of pairs would be inputs beside them.
bool units_are_columns(const Config& config) {
  return config.gate.unit == UnitKind::group || (config.model.name == "linear" && config.gate.unit != UnitKind::none);
}

// Whether columns are opened and closed by a budget of them.
bool chooses_columns(const Config& config) {
  return units_are_columns(config) && config.gate.unit != UnitKind::fine && config.gate.attach == Attach::interface &&
         config.gate.logits == LogitKind::global;
}

bool weighs_classes(const Config& config) {
  return config.train.class_weights != ClassWeights::none || !config.train.weight_of_class.empty();
}

// Where a gate differs from row to row, what a range of numbers adds cannot be computed ahead when the model is compacted.
const TextTable* texts_to_cut(const Config& config, const TableDataset& data) {
  const bool by_row =
      config.gate.unit == UnitKind::fine || (config.gate.unit != UnitKind::none && config.gate.logits == LogitKind::instance);
  return by_row ? nullptr : &data.table;
}

// Members that share nothing would each cost what the whole head costs.
bool shares_layers(const ModelOptions& model) {
  return has_deep_branch(model.name) && model.depth > 0 && model.ensemble == EnsembleKind::batch;
}

// Nothing reads statistics where there is neither a linear nor a deep branch.
TableOptions statistics_for(const Config& config) {
  TableOptions options = config.table;
  if (options.statistics == Statistics::automatic && config.model.name == "cin") options.statistics = Statistics::none;
  return options;
}

// Whoever names a model, wants microseconds, or asks a teacher, wants that net and nothing beside it; trees know nothing of other
// weights of classes, nor of a choice of columns that is not one for all rows.
void settle_trees(Config& config) {
  const bool weighted = weighs_classes(config);
  if (config.table.trees == TreesBeside::on && weighted)
    throw UserError(
        "table.trees = on: trees know no weights of classes (train.class_weights, train.weight_of_class). Leave out one.");
  if (config.table.trees != TreesBeside::automatic) return;
  const bool priced = config.gate.unit != UnitKind::none && config.gate.cost == UnitCost::serving;
  const bool other_units = units_are_columns(config) && !chooses_columns(config);
  const bool off = !config.is_open("model.name") || other_units || priced || weighted || !config.distill.from.empty() ||
                   config.train.quality == Quality::fast;
  config.table.trees = off ? TreesBeside::off : TreesBeside::on;
}

// Whether the gate's choice of columns is compared with sets that trees find: where whole columns are measured, all rows of a
// label count alike.
bool refits_columns(const Config& config, int64_t columns) {
  return config.table.refit_columns && chooses_columns(config) && measures_units(config.gate, columns) && !weighs_classes(config);
}

constexpr int64_t most_rows_with_trials = 5000;

// What is known of a made table, the same for any number of rows.
DataReport truth_of(const TableDataset& data) {
  if (data.planted.empty()) return {};
  DataReport report{{{"planted", data.planted}}, ""};
  std::vector<std::string> scores;
  const auto add = [&](const char* key, const char* name, double score) {
    if (score <= 0) return;
    report.json[key] = score;
    scores.push_back(fmt::format("the best possible {} {}{:.4f}", name, scores.empty() ? "is " : "", score));
  };
  add("bayes_auc", "AUC", data.bayes_auc);
  add("bayes_nll", "NLL", data.bayes_nll);
  report.text = fmt::format("informative: {}; {}", join(data.planted, ", "), join(scores, ", "));
  if (data.about.empty()) return report;
  report.json["draw"] = nlohmann::json::parse(data.about);
  report.text += "; drawn: " + data.about;
  return report;
}

}  // namespace

bool TableModality::reads(const DataOptions& data) const { return data.text.empty() && is_catalogued(data.source, name()); }

std::vector<std::string> TableModality::models() const { return table_model_names(); }

void TableModality::settle(Config& config, const Record& record) const {
  const std::vector<int64_t>& class_rows = record.rows_of_classes();
  const Schema& schema = dynamic_cast<const TableRecord&>(record).schema;
  const int64_t columns = std::ssize(schema.columns);
  const bool look_ups = config.gate.unit == UnitKind::dimension && config.gate.cost == UnitCost::serving;
  const int64_t units = look_ups ? std::ssize(look_ups_of(schema).names) : columns;
  const TableFacts facts{std::accumulate(class_rows.begin(), class_rows.end(), int64_t{0}),
                         columns,
                         std::ssize(class_rows),
                         measures_units(config.gate, units),
                         config.gate.unit == UnitKind::dimension && config.gate.attach == Attach::interface,
                         config.gate.unit == UnitKind::none,
                         shares_layers(config.model),
                         may_be_taught(config)};
  OptionList options = OptionList::of(config);
  std::vector<std::string> chosen;
  const int64_t named_epochs = config.is_open("train.epochs") ? 0 : config.train.epochs;
  for (const auto& [key, value] : table_settings(facts, config.train.quality, named_epochs)) {
    if (!may_settle(config, key)) continue;
    options.set(fmt::format("{}={}", key, value));
    chosen.push_back(fmt::format("{} = {}", key, value));
  }
  settle_trees(config);
  settle_teacher(config, facts, named_epochs, chosen);
  if (chosen.empty()) return;
  log_info(fmt::format("for {} training rows, {} columns and {} classes: {}", with_thousands(facts.rows), facts.columns,
                       facts.classes, join(chosen, ", ")));
}

// Many statistics of few rows help where they tell much and harm where they tell chance: which of both a table is, training says.
Trials TableModality::trials(const Config& config, const Record& record) const {
  const std::vector<int64_t>& class_rows = record.rows_of_classes();
  const bool few_rows = std::accumulate(class_rows.begin(), class_rows.end(), int64_t{0}) < most_rows_with_trials;
  if (!config.train.trials || !config.is_open("table.rows_per_input") || !few_rows || config.train.quality == Quality::fast ||
      !config.distill.from.empty())
    return {};
  if (statistics_for(config).statistics != Statistics::automatic) return {};
  return {{{{"table.rows_per_input=2"}}}, /*in_full=*/true, /*refits=*/true, /*errors=*/0.5};
}

std::vector<std::string> TableModality::resolved_defaults() const { return describe_table_settings(); }

std::shared_ptr<Dataset> TableModality::load(const Config& config) const {
  auto dataset = std::make_shared<TableData>(load_table(config.data, config.train.seed));
  const TableDataset& data = dataset->data;
  if (data.train.empty() || data.valid.empty()) {
    throw UserError(fmt::format("{} has {} training and {} validation rows: both are needed", data.name, data.train.size(),
                                data.valid.size()));
  }
  return dataset;
}

std::unique_ptr<Record> TableModality::fit(Dataset& dataset, const Config& config) const {
  auto& table = dynamic_cast<TableData&>(dataset);
  const TableDataset& data = table.data;
  auto record = std::make_unique<TableRecord>();
  Schema& schema = record->schema;
  schema = fit_schema(data.table, data.label, data.train, config.table, config.columns, config.data.types);
  check_labels(data.table, data.label, schema.classes, schema.missing_marks, data.valid, "validation");
  check_labels(data.table, data.label, schema.classes, schema.missing_marks, data.test, "test");
  if (const std::string small = small_classes(data.table, data.label, schema.classes, data.train, data.valid, data.test);
      !small.empty())
    log_warning(small);
  if (std::ssize(data.valid) < few_validation_rows) {
    log_warning(fmt::format(
        "{} validation rows decide when training stops and which weights are kept: with so few that is mostly chance, and so are "
        "their figures. `l0gm crossval` judges all rows; data.split.valid holds out a larger share.",
        data.valid.size()));
  }
  table.train = encode_rows(data.table, RowEncoder(schema), data.train, true);
  table.train.weights = weights_of(data);
  fit_statistics(schema, table.train, statistics_for(config), texts_to_cut(config, data), !units_are_columns(config));
  record->counts = count_fields(table.train, schema);
  record->dataset = data.name;
  record->files = data.files;
  record->planted = data.planted;
  record->bayes_auc = data.bayes_auc;
  record->bayes_nll = data.bayes_nll;
  record->training_rows = sha256(data.train);
  return record;
}

std::unique_ptr<Record> TableModality::read_record(const nlohmann::json& json) const {
  return std::make_unique<TableRecord>(TableRecord::from_json(json));
}

// Prices are this version's; those of a run that is resumed stay what they were.
void TableModality::measure(Record& record, const Dataset&, const Config& config, const Machine&, const Record* stored) const {
  if (config.gate.unit == UnitKind::none || config.gate.cost != UnitCost::serving) return;
  const auto* before = dynamic_cast<const TableRecord*>(stored);
  dynamic_cast<TableRecord&>(record).prices = before != nullptr ? before->prices : fitted_prices();
}

std::shared_ptr<Model> TableModality::make_model(const Record& record, const Config& config, uint64_t seed) const {
  const auto& table = dynamic_cast<const TableRecord&>(record);
  TableModelOptions options = options_of(config);
  options.prices = table.prices.value_or(fitted_prices());
  return make_table_model(table.schema, table.counts, options, config.gate, seed);
}

std::unique_ptr<Task> TableModality::make_task(const std::shared_ptr<Dataset>& dataset, const Record& record,
                                               std::shared_ptr<Model>, const Config& config, const Machine& machine) const {
  auto& table = dynamic_cast<TableData&>(*dataset);
  const Schema& schema = dynamic_cast<const TableRecord&>(record).schema;
  const torch::Dtype dtype = dtype_of(config.train.precision);
  auto task = std::make_unique<TableTask>(schema, config.train.batch, static_cast<uint64_t>(config.train.seed));
  const bool again = table.serves_more_tasks;
  const TableDataset& data = table.data;
  TableTask::Trees trees;
  const bool fit = TreeGrower::end_in_time(std::ssize(data.train), std::ssize(schema.columns), schema.tracked_classes());
  trees.beside = fit && !again && config.table.trees == TreesBeside::on;
  trees.refit_columns = refits_columns(config, std::ssize(schema.columns));
  trees.units_are_columns = chooses_columns(config);
  if (trees.beside || trees.refit_columns) {
    const EncodedTable* with_statistics = trees.beside && schema.statistic_slots() > 0 ? &table.train : nullptr;
    trees.grower = std::make_unique<TreeGrower>(schema, data.table, data.train, data.valid, data.weights, with_statistics);
    if (trees.grower->can_grow()) task->set_trees(std::move(trees));
  }
  task->add_split(Split::train, again ? table.train : std::exchange(table.train, {}), machine.device, dtype);
  task->add_split(Split::valid, encode_rows(table.data.table, RowEncoder(schema), table.data.valid, true), machine.device, dtype);
  task->row_weights = table.data.weights;
  if (!again) table.data.table = {};  // training does not need the text
  return task;
}

std::string TableModality::describe(const Dataset& dataset, const Record& record, const Model& model) const {
  const Schema& schema = dynamic_cast<const TableRecord&>(record).schema;
  return fmt::format("{}: {} training rows, {} columns, {} fields, interface of {} dimensions, {} parameters", dataset.name(),
                     with_thousands(dynamic_cast<const TableData&>(dataset).train.rows()), schema.columns.size(),
                     schema.fields.size(), model.encoder().width(), with_thousands(model.parameter_count()));
}

DataReport TableModality::export_data(const Config& config, const std::filesystem::path& folder, bool perturb) const {
  const TableDataset data = load_table(config.data, config.train.seed);
  const Schema schema = export_table(data, config.table, config.columns, config.data.types, folder);
  DataReport report{{{"dataset", data.name},
                     {"output", folder.string()},
                     {"train", data.train.size()},
                     {"valid", data.valid.size()},
                     {"test", data.test.size()}},
                    fmt::format("{}: train.csv {}, valid.csv {}, test.csv {} rows of {}\n", folder.string(), data.train.size(),
                                data.valid.size(), data.test.size(), data.name)};
  if (!perturb) return report;
  report.json["perturbed"] = export_perturbed(data, schema, static_cast<uint64_t>(config.train.seed), folder);
  report.text += fmt::format("{}: {} perturbed copies of test.csv, drawn by seed {}\n", (folder / "perturbed").string(),
                             report.json["perturbed"]["conditions"].size(), config.train.seed);
  return report;
}

DataReport TableModality::make_data(const Config& config, const std::filesystem::path& file) const {
  const TableDataset data = load_table(config.data, 0);
  write_csv(file, data.table);
  DataReport report = truth_of(data);
  report.json.update({{"rows", data.table.rows()}, {"output", file.string()}});
  report.text = fmt::format("{}: {} rows; {}\n", file.string(), with_thousands(data.table.rows()), report.text);
  return report;
}

DataReport TableModality::known_truth(const Config& config) const {
  if (config.data.source == "varied-table") return {};  // another for each seed
  Config small = config;
  small.data.rows = 100;
  return truth_of(load_table(small.data, 0));
}

std::unique_ptr<Run> TableModality::open(const std::filesystem::path& path, const Machine& machine) const {
  return std::make_unique<TableRun>(path, machine);
}

}  // namespace l0gm
