#include "study/paper.h"

#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"

namespace l0gm {
namespace {

// Every table of a plan, without running anything.
std::vector<PaperTable> tables_of(const PaperPlan& plan, const std::filesystem::path& place) {
  const StudyFolder folder(place / "study");
  const auto config = place / (plan.name + ".toml");
  write_file_atomically(config, plan.config);
  const RunCells runs(modalities(), config, {}, folder);
  PaperOptions options;
  options.tables = paper_tables();
  options.seeds = 1;
  return paper_table_lines(runs, plan, options);
}

const PaperLine* line_of(const std::vector<PaperTable>& tables, const std::string& id, const std::string& name) {
  for (const PaperTable& table : tables) {
    for (const PaperLine& line : table.lines) {
      if (table.id == id && line.name == name) return &line;
    }
  }
  return nullptr;
}

TEST(Paper, EveryPlanHasSettingsForItsLines) {
  for (const PaperPlan& plan : paper_plans()) {
    const TemporaryFolder folder;
    const std::vector<PaperTable> tables = tables_of(plan, folder.path());
    ASSERT_EQ(tables.size(), 6U);
    std::set<std::string> absent;
    for (const PaperLine& line : tables[0].lines) {
      if (!line.missing.empty()) absent.insert(line.name);
    }
    for (const auto& [name, unused] : plan.peers) absent.erase(name);  // no peers are given here
    for (const PlannedLine& line : plan.missing) {
      EXPECT_NE(line_of(tables, "q1", line.name)->missing.find("weights not at hand"), std::string::npos);
      absent.erase(line.name);
    }
    EXPECT_EQ(absent, std::set<std::string>{}) << plan.name;
  }
}

TEST(Paper, GenericBaselinesAreAmongTheLines) {
  const TemporaryFolder folder;
  const std::vector<PaperTable> tables = tables_of(paper_plan("adult"), folder.path());
  for (const char* name :
       {"interface pruned by magnitude, once", "interface pruned by magnitude, 5 rounds", "lottery ticket of the interface",
        "weights pruned by magnitude, once", "weights pruned by magnitude, 5 rounds", "lottery ticket of weights",
        "L0 on input and hidden neurons"}) {
    const PaperLine* line = line_of(tables, "q1", name);
    ASSERT_NE(line, nullptr) << name;
    EXPECT_EQ(line->missing, "") << name;
    EXPECT_EQ(line->cells.size(), 1U) << name;
    EXPECT_EQ(line_of(tables, "q2", name), nullptr) << name;
  }
}

// What was computed once serves every table: the dense model is the same in three of them.
TEST(Paper, EqualLinesAreOneCell) {
  const TemporaryFolder folder;
  const std::vector<PaperTable> tables = tables_of(paper_plan("adult"), folder.path());
  const std::string dense = line_of(tables, "q1", "the same, dense")->cells[0].key;
  EXPECT_EQ(line_of(tables, "ablation", "dense")->cells[0].key, dense);
  EXPECT_EQ(line_of(tables, "q1", "MLP")->cells[0].key, dense);
  EXPECT_NE(line_of(tables, "q1", "gate")->cells[0].key, dense);
}

// Options that nobody named and that are as they always were do not count: a later version may have more of them.
TEST(Paper, AKeyIsOfWhatDiffersFromTheDefaults) {
  const TemporaryFolder folder;
  const StudyFolder study(folder.path() / "study");
  std::map<std::string, std::string> hashes;
  const auto config = folder.write("c.toml", "[data]\nsource = \"planted-table\"\n");
  const Config read = read_config(modalities(), config, {});
  Config other = read;
  other.left_open.push_back("an.option.of.tomorrow");
  EXPECT_EQ(configuration_key(read, study, hashes), configuration_key(other, study, hashes));
  other.train.epochs += 1;
  EXPECT_NE(configuration_key(read, study, hashes), configuration_key(other, study, hashes));
}

}  // namespace
}  // namespace l0gm
