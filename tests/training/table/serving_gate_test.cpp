#include <gtest/gtest.h>

#include "compact/compact_kinds.h"
#include "compact/compact_run.h"
#include "gate/gate_figures.h"
#include "l0gm/error.h"
#include "runtime/compact_file.h"
#include "training/table/table_modality.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::differences;
using testing_tools::one_thread;
using testing_tools::result_of;
using testing_tools::tiny_config;
using testing_tools::train;
using testing_tools::Watcher;
using Settings = std::vector<std::string>;

Settings served(const Settings& further = {}) {
  Settings all = {"gate.cost=serving", "gate.target_active=0.5", "model.name=wide-deep", "table.statistics=pairs"};
  all.insert(all.end(), further.begin(), further.end());
  return all;
}

class ServingGate : public testing::Test {
 protected:
  fs::path out(const std::string& name = "run") const { return folder_.path() / name; }
  TableRun trained(const Settings& settings) {
    train(tiny_config(settings), out());
    return TableRun(out(), one_thread());
  }
  TemporaryFolder folder_;
};

TEST_F(ServingGate, MeetsABudgetOfServingTime) {
  for (const Settings& further : {Settings{},
                                  {"gate.worth=gradient"},
                                  {"gate.unit=group"},
                                  {"model.name=deepfm"},
                                  {"gate.logits=static", "gate.static_by=random"}}) {
    const TemporaryFolder folder;
    train(tiny_config(served(further)), folder.path() / "run");
    TableRun run(folder.path() / "run", one_thread());
    const GateFigures figures = gate_figures(run.model->sites(), run.gate_state);
    EXPECT_LE(figures.active_cost_fraction, 0.5 + 1e-6);
    EXPECT_GT(figures.active_cost_fraction, 0.3);
    const GateReport report = run.gates(Split::valid);
    ASSERT_TRUE(report.served_microseconds);
    EXPECT_LT(*report.served_microseconds, *report.served_microseconds_dense);
    const GateSite& site = *run.model->sites()[0];
    EXPECT_NEAR(*report.served_microseconds_dense * 1000, *site.cost_besides + site.gate->cost().sum().item<double>(), 1e-2);
  }
}

TEST_F(ServingGate, ClosedStatisticsAreNotInTheFile) {
  TableRun run = trained(served({"gate.target_active=0.2"}));
  const GateSite& site = *run.model->sites()[0];
  EXPECT_EQ(site.noun, "look-ups");
  const torch::Tensor open = site.gate->test_values(run.gate_state).gt(0);
  int64_t statistics = 0;
  for (int64_t unit = std::ssize(run.table.schema.columns); unit < site.gate->units(); ++unit)
    statistics += open[unit].item<bool>() ? 1 : 0;
  ASSERT_LT(statistics, site.gate->units() - std::ssize(run.table.schema.columns));
  const auto file = out("model.l0gm");
  compact_run(compact_kinds(), out(), file, {});
  const CompactFile compact = read_compact(file);
  EXPECT_EQ(std::ssize(compact.header.schema.statistics), statistics) << "those that are open, and no others of their columns";
  const nlohmann::json& gate = compact.header.about["gate"];
  EXPECT_LT(gate["served_microseconds"].get<double>(), gate["served_microseconds_dense"].get<double>());
  EXPECT_NE(read_file(out("model.md")).find("microseconds on one thread"), std::string::npos);
}

TEST_F(ServingGate, ResumesWithThePricesThatItBeganWith) {
  const Config config = tiny_config(served());
  train(config, out("whole"));
  Watcher first, second;
  first.stop_at = 20;
  ASSERT_FALSE(train(config, out("parts"), first));
  ASSERT_TRUE(train(config, out("parts"), second, true));
  EXPECT_EQ(differences(result_of(out("whole")), result_of(out("parts"))), Settings{});

  TableRecord stored, again;
  stored.prices = fitted_prices();
  stored.prices->look_up = 77;
  const TableData nothing{TableDataset()};
  TableModality().measure(again, nothing, config, one_thread(), &stored);
  EXPECT_EQ(again.prices->look_up, 77);
  const TableRecord read = TableRecord::from_json(nlohmann::json::parse(read_file(out("whole") / "schema.json")));
  EXPECT_EQ(read.prices->look_up, fitted_prices().look_up);
}

TEST_F(ServingGate, OtherUnitsAreRefused) {
  const auto refused = [&](const Settings& settings) {
    return message_of<UserError>([&] { train(tiny_config(settings), out("refused")); });
  };
  EXPECT_NE(refused(served({"gate.unit=fine"})).find("not fine"), std::string::npos);
  EXPECT_NE(refused(served({"gate.attach=input"})).find("gate.attach"), std::string::npos);
  EXPECT_NE(refused(served({"gate.logits=instance"})).find("global"), std::string::npos);
  EXPECT_NE(refused(served({"gate.target_active=0.001"})).find("cannot be met"), std::string::npos);
}

}  // namespace
}  // namespace l0gm
