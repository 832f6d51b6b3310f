#include "compact/table/fold.h"

#include <gtest/gtest.h>

#include <numeric>

#include "compact/every_kind.h"
#include "compact/table/check_rows.h"
#include "l0gm/runtime.h"
#include "runtime/compact_file.h"
#include "runtime/probabilities.h"
#include "runtime/reference_logits.h"
#include "support/temporary_folder.h"
#include "training/table/table_task.h"

// Folding is exact: for every model, gate, number of members and of classes, whatever is folded.
namespace l0gm {
namespace {

using namespace testing_tools;

const GateState hardened{Phase::harden, 0.5, 1, 1};
constexpr int64_t check_count = 400;

const EveryKind& data_of(int64_t classes) {
  static const EveryKind two(2), four(4);
  return classes == 2 ? two : four;
}

// Fine units and gates that depend on the example have no statistics of ranges: TableModality leaves them out.
const EveryKind& data_for(const GateOptions& gate, int64_t classes) {
  static const EveryKind two(2, Statistics::pairs, false), four(4, Statistics::pairs, false);
  if (gate.unit != UnitKind::fine && gate.logits != LogitKind::instance) return data_of(classes);
  return classes == 2 ? two : four;
}

const TextTable& rows_of(int64_t classes) {
  static const TextTable two = make_check_rows(data_of(2).schema, check_count, 1),
                         four = make_check_rows(data_of(4).schema, check_count, 1);
  return classes == 2 ? two : four;
}

std::vector<int64_t> numbers(int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

std::vector<double> trained(Model& model, const GateState& state, const Schema& schema, const TextTable& table,
                            torch::Dtype dtype = torch::kFloat64) {
  const EncodedTable encoded = encode_rows(table, RowEncoder(schema), numbers(table.rows()), false);
  return predict_table(model, state, TableTensors(encoded, torch::kCPU, dtype), schema).probabilities;
}

std::vector<double> folded(const FoldedModel& model, const TextTable& table) {
  const EncodedTable encoded = encode_rows(table, RowEncoder(model.schema), numbers(table.rows()), false);
  const size_t classes = model.schema.classes.size();
  std::vector<double> p(static_cast<size_t>(table.rows()) * classes), logits(static_cast<size_t>(model.net.logits()));
  for (int64_t row = 0; row < table.rows(); ++row) {
    reference_logits(model.net, encoded.codes.data() + row * encoded.code_slots,
                     encoded.slopes.data() + row * encoded.slope_slots, logits.data());
    mean_probabilities(logits.data(), model.net.members, model.net.outputs, p.data() + static_cast<size_t>(row) * classes);
  }
  return p;
}

std::vector<double> served(const FoldedModel& model, const TextTable& table, WeightType weights) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "model.l0gm";
  write_compact(path, {model.schema, weights, {}, ',', nlohmann::json::object()}, model.net);
  const CompactModel compact = CompactModel::load(path);
  const RowLayout layout = compact.layout(table.names());
  std::vector<std::string_view> cells;
  for (int64_t row = 0; row < table.rows(); ++row) {
    for (int64_t c = 0; c < table.columns(); ++c) cells.push_back(table.cell(row, c));
  }
  std::vector<float> p(static_cast<size_t>(table.rows()) * compact.classes().size());
  compact.predict(cells, p, &layout);
  return {p.begin(), p.end()};
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::isnan(a[i] - b[i]) ? HUGE_VAL : std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

struct GateKind {
  std::string name;
  GateOptions options;
  GateState state = hardened;
};

std::vector<GateKind> gate_kinds() {
  std::vector<GateKind> kinds;
  const auto add = [&](const std::string& name, UnitKind unit, LogitKind logits = LogitKind::global,
                       EnumSet<Attach> attach = Attach::interface, TestRule rule = TestRule::threshold, int64_t rank = 0) {
    GateOptions options;
    options.unit = unit;
    options.logits = logits;
    options.attach = attach;
    options.test_rule = rule;
    options.map_rank = rank;
    kinds.push_back({name, options});
  };
  add("dense", UnitKind::none);
  add("dimension", UnitKind::dimension);
  add("group", UnitKind::group);
  add("fine", UnitKind::fine);
  add("static", UnitKind::dimension, LogitKind::fixed);
  add("median", UnitKind::dimension, LogitKind::global, Attach::interface, TestRule::median);
  add("fine_louizos", UnitKind::fine, LogitKind::global, Attach::interface, TestRule::louizos);
  add("input", UnitKind::dimension, LogitKind::global, Attach::input);
  add("input_group", UnitKind::group, LogitKind::global, Attach::input);
  add("input_fine", UnitKind::fine, LogitKind::global, Attach::input);
  add("instance", UnitKind::dimension, LogitKind::instance);
  add("instance_group", UnitKind::group, LogitKind::instance);
  add("instance_median", UnitKind::dimension, LogitKind::instance, Attach::interface, TestRule::median, 3);
  add("instance_input", UnitKind::dimension, LogitKind::instance, Attach::input, TestRule::threshold, 2);
  add("hidden", UnitKind::dimension, LogitKind::global, Attach::hidden);
  add("hidden_median", UnitKind::dimension, LogitKind::global, Attach::hidden, TestRule::median);
  add("input_hidden", UnitKind::dimension, LogitKind::global, {Attach::input, Attach::hidden});
  for (const LogitKind logits : {LogitKind::global, LogitKind::instance}) {  // top-k that was never hardened: a share may pass
    add(fmt::format("top_k_{}", name_of_enum(logits)), UnitKind::dimension, logits);
    kinds.back().state.keep = 0.4;
  }
  return kinds;
}

struct Members {
  int64_t count;
  EnsembleKind kind;
};

class Fold : public ::testing::TestWithParam<std::tuple<std::string, size_t>> {};

TEST_P(Fold, SaysWhatTheModelSays) {
  const auto [name, kind] = GetParam();
  const GateKind gate = gate_kinds()[kind];
  const bool no_neurons = name == "linear" || name == "fm" || name == "cin";
  if (no_neurons && gate.options.attach.has(Attach::hidden)) GTEST_SKIP() << name << " has no hidden neurons";
  for (const int64_t classes : {2, 4}) {
    for (const auto& [members, ensemble] :
         {Members{1, EnsembleKind::heads}, {3, EnsembleKind::heads}, {3, EnsembleKind::batch}}) {
      const bool same_as_heads = name == "linear" || name == "fm" || name == "cin";
      if (same_as_heads && ensemble == EnsembleKind::batch) continue;
      const EveryKind& data = data_for(gate.options, classes);
      TableModelOptions options;
      options.model.name = name;
      options.model.width = 3;
      options.model.depth = members == 1 ? 1 : 2;
      options.model.hidden = 5;
      options.model.members = members;
      options.model.ensemble = ensemble;
      options.cin.maps = members == 1 ? std::vector<int64_t>{4, 3} : std::vector<int64_t>{3, 2, 2};
      options.cin.rank = classes == 2 ? 0 : 2;
      options.fm.weighted = classes == 2;
      const auto model = make_table_model(data.schema, data.counts, options, gate.options, 1);
      const auto single = make_table_model(data.schema, data.counts, options, gate.options, 1);
      shake(*model, 7);
      shake(*single, 7);
      place(*single, torch::kCPU, torch::kFloat32);
      const std::vector<double> wanted = trained(*model, gate.state, data.schema, rows_of(classes));
      const double own_error =
          largest_difference(trained(*single, gate.state, data.schema, rows_of(classes), torch::kFloat32), wanted);
      for (const int64_t fold_bytes : {int64_t{0}, int64_t{3000}, int64_t{1} << 30}) {
        const FoldedModel compact = fold_table(*model, gate.state, data.schema, {fold_bytes});
        const std::string what = fmt::format("{} {} {} members, {}, classes {} fold {}", name, gate.name, members,
                                             name_of_enum(ensemble), classes, fold_bytes);
        EXPECT_LE(largest_difference(folded(compact, rows_of(classes)), wanted), 1e-9) << what;
        EXPECT_LE(largest_difference(served(compact, rows_of(classes), WeightType::float32), wanted),
                  std::max(2e-6, 2 * std::min(own_error, 1e-4)))
            << what;
        if (gate.options.logits == LogitKind::instance || fold_bytes == 3000) continue;
        EXPECT_LE(largest_difference(served(compact, rows_of(classes), WeightType::bfloat16), wanted), 0.1) << what;
        EXPECT_LE(largest_difference(served(compact, rows_of(classes), WeightType::int8), wanted), 0.2) << what;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Everything, Fold,
                         ::testing::Combine(::testing::Values("mlp", "linear", "fm", "wide-deep", "deepfm", "cin", "xdeepfm"),
                                            ::testing::Range(size_t{0}, gate_kinds().size())),
                         [](const auto& test) {
                           std::string name = std::get<0>(test.param) + "_" + gate_kinds()[std::get<1>(test.param)].name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

std::shared_ptr<Model> shaken(const EveryKind& data, const std::string& name, const GateOptions& gate, int64_t depth = 1) {
  TableModelOptions options;
  options.model.name = name;
  options.model.width = 4;
  options.model.depth = depth;
  options.model.hidden = 6;
  auto model = make_table_model(data.schema, data.counts, options, gate, 1);
  shake(*model, 3);
  return model;
}

TEST(FoldTable, ADeepBranchWithoutHiddenLayerIsALinearMap) {
  const EveryKind& data = data_of(2);
  const auto model = shaken(data, "deepfm", {}, 0);
  const FoldedModel compact = fold_table(*model, hardened, data.schema, {});
  EXPECT_EQ(compact.net.hidden, 0);
  EXPECT_LE(largest_difference(folded(compact, rows_of(2)), trained(*model, hardened, data.schema, rows_of(2))), 1e-9);
}

// Closed columns are gone from the schema: a file without them can be served; with pairs of statistics their keys stay.
TEST(FoldTable, AClosedColumnIsNotRead) {
  const EveryKind data(2, Statistics::columns);
  GateOptions gate;
  gate.unit = UnitKind::group;
  const auto model = shaken(data, "deepfm", gate);
  const GateSite& site = *model->sites()[0];
  torch::Tensor open = at::zeros({site.gate->units()}, torch::kBool);
  open[0] = true;
  open[3] = true;
  HardConcrete(site.gate)->force(open, hardened.tau);
  const FoldedModel compact = fold_table(*model, hardened, data.schema, {});
  ASSERT_EQ(compact.schema.columns.size(), 2U);
  EXPECT_EQ(compact.schema.columns[0].name, "colour");
  EXPECT_EQ(compact.schema.columns[1].name, "age");
  EXPECT_EQ(compact.closed_columns.size(), data.schema.columns.size() - 2);
  EXPECT_LE(largest_difference(folded(compact, rows_of(2)), trained(*model, hardened, data.schema, rows_of(2))), 1e-9);
}

// Nothing is left for pairs and maps to read: they say nothing, and the file must be readable all the same.
TEST(FoldTable, StatisticsAloneMayStayOpen) {
  for (const std::string name : {"deepfm", "xdeepfm"}) {
    const EveryKind& data = data_of(2);
    const auto model = shaken(data, name, {});
    const GateSite& site = *model->sites()[0];
    torch::Tensor open = at::zeros({site.gate->units()}, torch::kBool);
    open[site.gate->units() - 1] = true;
    HardConcrete(site.gate)->force(open, hardened.tau);
    const FoldedModel compact = fold_table(*model, hardened, data.schema, {});
    const std::vector<double> wanted = trained(*model, hardened, data.schema, rows_of(2));
    EXPECT_LE(largest_difference(folded(compact, rows_of(2)), wanted), 1e-9);
    EXPECT_LE(largest_difference(served(compact, rows_of(2), WeightType::float32), wanted), 2e-6);
  }
}

// What folding costs and saves: folded tables are as wide as the hidden layer, others as their open dimensions.
TEST(FoldTable, UnfoldedTablesAreAsWideAsTheirOpenDimensions) {
  const EveryKind data(2, Statistics::none);
  const auto model = shaken(data, "mlp", {});
  const GateSite& site = *model->sites()[0];
  torch::Tensor open = at::zeros({site.gate->units()}, torch::kBool);
  for (const int64_t unit : {0, 5, 6}) open[unit] = true;
  HardConcrete(site.gate)->force(open, hardened.tau);
  const FoldedModel compact = fold_table(*model, hardened, data.schema, {0});
  int64_t units = 0;
  for (const NetColumn& column : compact.net.columns) {
    EXPECT_FALSE(column.folded);
    units += column.units;
  }
  EXPECT_EQ(units, 3);
  const FoldedModel all = fold_table(*model, hardened, data.schema, {1 << 30});
  for (const NetColumn& column : all.net.columns) EXPECT_TRUE(column.folded);
  EXPECT_EQ(all.net.unit_tables.size(), 0U);
}

TEST(FoldTable, TheSmallestTablesAreFoldedFirst) {
  const EveryKind data(2, Statistics::none);
  GateOptions dense;
  dense.unit = UnitKind::none;
  const auto model = shaken(data, "mlp", dense);
  const FoldedModel compact = fold_table(*model, hardened, data.schema, {1000});
  int64_t largest_folded = 0, smallest_unfolded = 1 << 30;
  for (const NetColumn& column : compact.net.columns) {
    if (column.folded)
      largest_folded = std::max(largest_folded, column.table_rows());
    else
      smallest_unfolded = std::min(smallest_unfolded, column.table_rows());
  }
  EXPECT_GT(largest_folded, 0);
  EXPECT_LT(smallest_unfolded, 1 << 30);
  EXPECT_LE(largest_folded, smallest_unfolded);
}

TEST(FoldTable, DeadUnitsOfAnExampleDependentGateAreGone) {
  const EveryKind& data = data_of(2);
  GateOptions gate;
  gate.logits = LogitKind::instance;
  const auto model = shaken(data, "mlp", gate);
  const auto alive = model->sites()[0]->gate->ever_open(hardened).sum().item<int64_t>();
  const FoldedModel compact = fold_table(*model, hardened, data.schema, {});
  EXPECT_LT(alive, model->sites()[0]->gate->units());
  EXPECT_EQ(compact.net.gate.gates, alive);
  EXPECT_TRUE(compact.net.gate.present);
}

}  // namespace
}  // namespace l0gm
