#include "study/paper.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "support/environment.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"

namespace l0gm {
namespace {

// Every table of a plan, without running anything.
std::vector<PaperTable> tables_of(const PaperPlan& plan, const std::filesystem::path& place,
                                  const std::optional<PeerPrograms>& programs = {}) {
  const StudyFolder folder(place / "study");
  const auto config = place / (plan.name + ".toml");
  write_file_atomically(config, with_weights_folder(plan.config));
  const RunCells runs(modalities(), config, {}, folder);
  PaperOptions options;
  options.tables = paper_tables();
  options.seeds = 1;
  options.programs = programs;
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

// Encoders that are there as far as anybody looks before training.
void make_weights(const TemporaryFolder& folder, const PaperPlan& plan) {
  folder.write("weights/gte-small/config.json", "{}");
  const std::string path = "encoder.path=";
  for (const PlannedLine& line : plan.backbones) {
    for (const std::string& setting : line.settings) {
      if (setting.starts_with(path)) folder.write(setting.substr(path.size()) + "/config.json", "{}");
    }
  }
}

TEST(Paper, EveryPlanHasSettingsForItsLines) {
  for (const PaperPlan& plan : paper_plans()) {
    const TemporaryFolder folder;
    const ScopedVariable weights("L0GM_WEIGHTS", (folder.path() / "weights").c_str());
    make_weights(folder, plan);
    const std::vector<PaperTable> tables = tables_of(plan, folder.path());
    ASSERT_EQ(tables.size(), 6U);
    std::set<std::string> absent;
    for (const PaperLine& line : tables[0].lines) {
      if (!line.missing.empty()) absent.insert(line.name);
    }
    for (const auto& [name, unused] : plan.peers) {  // no peers are given here: they are named, and nothing is said for them
      EXPECT_NE(line_of(tables, "q1", name)->missing.find("not installed"), std::string::npos) << name;
      EXPECT_TRUE(line_of(tables, "q1", name)->cells.empty()) << name;
      absent.erase(name);
    }
    for (const PlannedPeer& line : plan.tuned_peers) absent.erase(line.name);
    for (const LeftOut& line : plan.left_out) absent.erase(line.name);
    EXPECT_EQ(absent, std::set<std::string>{}) << plan.name;
  }
}

TEST(Paper, APlanSaysWhichKindOfDataItsOwnIs) {
  for (const PaperPlan& plan : paper_plans()) {
    const TemporaryFolder folder;
    const auto config = folder.write("c.toml", plan.config);
    EXPECT_EQ(modality_of(modalities(), read_config(modalities(), config, {}).data).name(), plan.modality) << plan.name;
  }
}

// A line runs where its encoder is there, and says what would run it where it is not.
TEST(Paper, EncodersAreMissingWhereTheirFoldersAre) {
  const TemporaryFolder folder;
  const ScopedVariable weights("L0GM_WEIGHTS", (folder.path() / "weights").c_str());
  folder.write("weights/bert-base-uncased/config.json", "{}");
  std::vector<PaperTable> tables = tables_of(paper_plan("imdb"), folder.path());
  const PaperLine *there = line_of(tables, "q1", "BERT"), *absent = line_of(tables, "q1", "RoBERTa");
  EXPECT_EQ(there->missing, "");
  ASSERT_EQ(there->cells.size(), 1U);
  const std::vector<std::string>& words = there->cells[0].steps[0].words;
  EXPECT_NE(std::find(words.begin(), words.end(), "encoder.path=" + (folder.path() / "weights/bert-base-uncased").string()),
            words.end());
  EXPECT_NE(absent->missing.find("weights not at hand: no folder roberta-base in"), std::string::npos) << absent->missing;
  EXPECT_NE(absent->missing.find("--set encoder.path=weights/roberta-base --set gate.unit=none"), std::string::npos);
  EXPECT_TRUE(absent->cells.empty());
  // That of the configuration as well: no line of a sweep of prices is there without it.
  EXPECT_NE(line_of(tables, "f1", "lambda 1e-05")->missing.find("gte-small"), std::string::npos);
  folder.write("weights/gte-small/config.json", "{}");
  tables = tables_of(paper_plan("imdb"), folder.path());
  EXPECT_EQ(line_of(tables, "f1", "lambda 1e-05")->missing, "");
}

TEST(Paper, ModelsAreTimedAsTheirKindOfDataIs) {
  const TemporaryFolder folder;
  const auto command = [&](const char* name) {
    const std::vector<PaperTable> tables = tables_of(paper_plan(name), folder.path());
    const PaperLine* gate = line_of(tables, "q2", "gate");
    EXPECT_EQ(gate->served[0].steps[0].name, "compact") << "parity is proven first";
    const std::vector<std::string>& words = gate->served[0].steps[1].words;
    EXPECT_EQ(std::count(words.begin(), words.end(), "{cell:" + gate->cells[0].key + "}/run"), words[3] == "graph" ? 1 : 0);
    return join(std::span(words).subspan(2, 2), " ");
  };
  EXPECT_EQ(command("adult"), "bench latency");
  EXPECT_EQ(command("computers"), "bench graph");
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

TEST(Paper, WhatAPlanLeavesOutIsMissingWithTheReason) {
  const TemporaryFolder folder;
  PaperPlan plan = paper_plan("clicks");
  plan.left_out = {{"lottery ticket of weights", "too long"}, {"XGBoost", "too many columns"}};
  const std::vector<PaperTable> tables = tables_of(plan, folder.path());
  for (const LeftOut& line : plan.left_out) {
    EXPECT_EQ(line_of(tables, "q1", line.name)->missing, "left out: " + line.why);
    EXPECT_TRUE(line_of(tables, "q1", line.name)->cells.empty());
  }
  // Every name is that of a line.
  for (const PaperPlan& each : paper_plans()) {
    const TemporaryFolder place;
    const std::vector<PaperTable> of_plan = tables_of(each, place.path());
    for (const LeftOut& line : each.left_out) {
      EXPECT_TRUE(std::any_of(of_plan.begin(), of_plan.end(),
                              [&](const PaperTable& table) { return line_of(of_plan, table.id, line.name) != nullptr; }))
          << each.name << ": " << line.name;
    }
  }
}

TEST(Paper, TunedLinesAreOfTheFirstTableAlone) {
  const TemporaryFolder folder;
  folder.write("peers/train.py", "");
  PaperPlan plan = paper_plan("adult");
  plan.tuned = {{"gate, tuned", {"gate.target_active=0.2", "train.lr=0.003"}}};
  plan.tuned_peers = {{"XGBoost, tuned", "xgboost", {"max_depth=4"}}};
  const PeerPrograms programs{folder.path() / "peers", "true"};  // a python that lacks nothing
  const std::vector<PaperTable> tables = tables_of(plan, folder.path(), programs);
  ASSERT_NE(line_of(tables, "q1", "gate, tuned"), nullptr);
  EXPECT_EQ(line_of(tables, "q2", "gate, tuned"), nullptr);
  const PaperLine *stock = line_of(tables, "q1", "XGBoost"), *tuned = line_of(tables, "q1", "XGBoost, tuned");
  ASSERT_NE(tuned, nullptr);
  EXPECT_NE(tuned->cells[0].key, stock->cells[0].key);
  EXPECT_EQ(tuned->rows[0].key, stock->rows[0].key);
  const std::vector<std::string>& words = tuned->cells[0].steps[0].words;
  EXPECT_NE(std::find(words.begin(), words.end(), "max_depth=4"), words.end());
}

// Sensitivity tables may have shorter trainings than the main ones: their runs are then others.
TEST(Paper, SensitivityHasItsOwnRecipe) {
  const TemporaryFolder folder;
  PaperPlan plan = paper_plan("clicks");
  plan.sensitivity = {"train.epochs=1"};
  const std::vector<PaperTable> tables = tables_of(plan, folder.path());
  EXPECT_NE(line_of(tables, "q1", "gate")->cells[0].key, line_of(tables, "ablation", "gate")->cells[0].key);
  EXPECT_EQ(line_of(tables, "f2", "annealing")->cells[0].key, line_of(tables, "ablation", "gate")->cells[0].key);
}

TEST(Paper, PricesHaveTheirOwnSettings) {
  const TemporaryFolder folder;
  PaperPlan plan = paper_plan("clicks");
  const std::vector<PaperTable> before = tables_of(plan, folder.path());
  plan.priced = {"schedule.anneal_until=0.7"};
  const std::vector<PaperTable> after = tables_of(plan, folder.path());
  const auto key = [](const auto& tables, const char* id, const char* name) { return line_of(tables, id, name)->cells[0].key; };
  EXPECT_NE(key(before, "f1", "lambda 0.001"), key(after, "f1", "lambda 0.001"));
  EXPECT_EQ(key(after, "f1", "lambda 0.001"), key(after, "f3", "moderate"));
  EXPECT_EQ(key(before, "ablation", "gate"), key(after, "ablation", "gate"));
}

// One look at the test rows: with perturbed copies, or without where no table wants these.
TEST(Paper, ACellIsJudgedOnTestRowsOnce) {
  const TemporaryFolder folder;
  const std::vector<PaperTable> tables = tables_of(paper_plan("clicks"), folder.path());
  std::map<std::string, std::set<std::string>> steps;
  for (const StudyCell& cell : paper_cells(tables)) {
    for (const Step& step : cell.steps) steps[cell.key].insert(step.name);
  }
  for (const auto& [key, names] : steps) EXPECT_NE(names.contains("test"), names.contains("perturbed")) << key;
  const std::vector<StudyCell> some = paper_cells(tables, {"gate"});
  EXPECT_FALSE(some.empty());
  for (const StudyCell& cell : some) EXPECT_EQ(cell.label, "gate, seed 0");
}

// What was computed once serves every table: the dense model is the same in three of them.
TEST(Paper, EqualLinesAreOneCell) {
  const TemporaryFolder folder;
  folder.write("peers/train.py", "");
  const std::vector<PaperTable> tables =
      tables_of(paper_plan("adult"), folder.path(), PeerPrograms{folder.path() / "peers", "true"});
  EXPECT_EQ(line_of(tables, "q1", "XGBoost")->cells[0].key, line_of(tables, "q2", "XGBoost")->cells[0].key);
  const std::string dense = line_of(tables, "q1", "the same, dense")->cells[0].key;
  EXPECT_EQ(line_of(tables, "ablation", "dense")->cells[0].key, dense);
  EXPECT_EQ(line_of(tables, "q1", "MLP")->cells[0].key, dense);
  EXPECT_NE(line_of(tables, "q1", "gate")->cells[0].key, dense);
}

// A default is a value like any other: where it changes, what was computed with the old one is not found.
TEST(Paper, AKeyHoldsEveryValueThatIsRead) {
  const TemporaryFolder folder;
  const StudyFolder study(folder.path() / "study");
  const auto config = folder.write("c.toml", "[data]\nsource = \"planted-table\"\n");
  const Config read = read_config(modalities(), config, {});
  std::map<std::string, std::string> hashes;
  const auto key = [&](const Config& of) { return configuration_key(modality_of(modalities(), of.data), of, study, hashes); };
  const auto changed = [&](auto change) {
    Config other = read;  // nothing more is named: as if the program had another default
    change(other);
    return key(other) != key(read);
  };
  EXPECT_FALSE(changed([](Config&) {}));
  EXPECT_TRUE(changed([](Config& c) { c.train.lr *= 2; }));
  EXPECT_TRUE(changed([](Config& c) { c.gate.pi = 0.4; }));
  EXPECT_TRUE(changed([](Config& c) { std::erase(c.left_open, "train.lr"); })) << "what the data may set, and what it may not";
  EXPECT_FALSE(changed([](Config& c) { c.left_open.push_back("an.option.of.tomorrow"); }));
  EXPECT_FALSE(changed([](Config& c) { c.graph.drop_edge = 0.5; })) << "of another kind of data";
  EXPECT_FALSE(changed([](Config& c) { c.link.negatives += 1; }));
  EXPECT_FALSE(changed([](Config& c) { c.data.dir = "elsewhere"; })) << "where files lie";
}

// The same settings, named or not, are two keys where the data might set them, and one value of a file is the file's bytes.
TEST(Paper, AKeyHoldsTheBytesOfFiles) {
  const TemporaryFolder folder;
  const StudyFolder study(folder.path() / "study");
  const auto config = folder.write("c.toml", "[data]\nsource = \"csv\"\ntrain = \"t.csv\"\nlabel = \"y\"\n");
  const auto key = [&] {
    std::map<std::string, std::string> hashes;
    const Config read = read_config(modalities(), config, {});
    return configuration_key(modality_of(modalities(), read.data), read, study, hashes);
  };
  folder.write("t.csv", "x,y\n1,a\n");
  const std::string before = key();
  EXPECT_EQ(key(), before);
  folder.write("t.csv", "x,y\n2,a\n");
  EXPECT_NE(key(), before);
}

}  // namespace
}  // namespace l0gm
