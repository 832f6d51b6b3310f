// How runs and peers do on perturbed copies of the rows: `evaluate` with EvaluateOptions::perturb.
#include <gtest/gtest.h>

#include <set>

#include "base/hash.h"
#include "data/table/perturb.h"
#include "data/table/source.h"
#include "evaluation/describe.h"
#include "evaluation/evaluate.h"
#include "l0gm/error.h"
#include "metrics/calibration.h"
#include "metrics/make_predictions.h"
#include "metrics/scores.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
using testing_tools::calibrated_model;
using testing_tools::one_thread;
using testing_tools::sharpened;
using testing_tools::tiny_config;
using testing_tools::train;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Perturbed : public testing::Test {
 protected:
  // A trained run, and the export of the same configuration beside it.
  nlohmann::json judged(const Config& config, bool keep = false, Split split = Split::test) {
    train(config, out());
    const TableDataset data = load_table(config.data, config.train.seed);
    const Schema schema = export_table(data, config.table, config.columns, config.data.types, exported());
    record_ = export_perturbed(data, schema, static_cast<uint64_t>(config.train.seed), exported());
    return evaluated(out(), {.perturb = true, .keep_perturbed = keep}, split);
  }
  static nlohmann::json evaluated(const fs::path& path, const EvaluateOptions& options = {.perturb = true},
                                  Split split = Split::test) {
    return evaluate(modalities(), path, split, one_thread(), options).to_json();
  }
  // Numbers that are whole and that are not, texts, missing cells, an unused column.
  std::vector<std::string> own_table() {
    std::string text = "x,constant,weight,colour,town,y\n";
    for (int i = 0; i < 400; ++i) {
      const int x = i * 37 % 101;
      text += (i % 50 == 3 ? "?" : std::to_string(x)) + ",1," + std::to_string(0.25 * (i * 13 % 97)) + "," +
              (i % 3 ? "\"red, dark\"" : "blue") + "," + "abcde"[i % 5] + "," + (x > 50 ? "yes" : "no") + "\n";
    }
    return {"data.source=csv", "data.train=" + folder_.write("t.csv", text).string(), "data.label=y", "gate.k=6", "train.seed=5"};
  }
  // What a peer hands back: predictions for the plain rows and for these conditions.
  fs::path peer(const std::vector<std::string>& conditions, nlohmann::json record) {
    const fs::path folder = folder_.path() / "peer";
    fs::create_directories(folder / "predictions");
    write_predictions(folder / "predictions/test.csv", calibrated_model(300, 2, 1, 1));
    double factor = 1;
    for (const std::string& name : conditions) {
      write_predictions(folder / "predictions" / ("test-" + name + ".csv"),
                        sharpened(calibrated_model(300, 2, 1, 1), factor += 0.2));
    }
    folder_.write("peer/perturbed.json", record.dump());
    return folder;
  }
  static nlohmann::json full_record() {
    nlohmann::json record = {{"seed", 0}, {"conditions", nlohmann::json::object()}};
    for (const Perturbation& p : perturbations()) {
      record["conditions"][p.name] = {{"file", "perturbed/test-" + p.name + ".csv"}, {"sha256", sha256(p.name)}};
    }
    return record;
  }
  static void expect_means(const nlohmann::json& result) {
    for (const char* measure : {"accuracy", "auc", "nll"}) {
      double sum = 0;
      for (const auto& condition : result["conditions"]) sum += condition[measure].get<double>();
      EXPECT_NEAR(result["rob_mu"][measure].get<double>(), sum / static_cast<double>(result["conditions"].size()), 1e-12)
          << measure;
    }
  }
  fs::path out() const { return folder_.path() / "run"; }
  fs::path exported() const { return folder_.path() / "export"; }
  TemporaryFolder folder_;
  nlohmann::json record_;
};

TEST_F(Perturbed, PredictionsAreKeptWhereAskedFor) {
  judged(tiny_config());
  EXPECT_FALSE(fs::exists(out() / "predictions" / "test-noise-0.1.csv"));
  const nlohmann::json result = evaluated(out(), {.perturb = true, .keep_predictions = true});
  for (const auto& [name, figures] : result["conditions"].items()) {
    const Predictions kept = read_predictions(out() / "predictions" / ("test-" + name + ".csv"));
    EXPECT_NEAR(nll(kept), figures["nll"].get<double>(), 1e-9) << name;
    EXPECT_EQ(kept.rows, read_predictions(out() / "predictions" / "test.csv").rows);
  }
}

TEST_F(Perturbed, PeersAreHandedTheBytesThatRunsAreJudgedOn) {
  const nlohmann::json result = judged(tiny_config(own_table()));
  ASSERT_EQ(result["conditions"].size(), 12u);
  std::set<std::string> hashes;
  for (const Perturbation& perturbation : perturbations()) {
    const std::string hash = result["conditions"][perturbation.name]["sha256"];
    EXPECT_EQ(hash, record_["conditions"][perturbation.name]["sha256"].get<std::string>()) << perturbation.name;
    EXPECT_EQ(hash, sha256_file(exported() / "perturbed" / ("test-" + perturbation.name + ".csv"))) << perturbation.name;
    hashes.insert(hash);
  }
  EXPECT_EQ(record_["seed"], 5);
  EXPECT_EQ(hashes.size(), 12u);
}

TEST_F(Perturbed, TheMeanIsOverTheConditions) {
  const nlohmann::json result = judged(tiny_config({"gate.k=20"}));
  expect_means(result);
  std::set<double> losses;
  for (const auto& condition : result["conditions"]) {
    losses.insert(condition["nll"].get<double>());
    EXPECT_GE(condition["ece"].get<double>(), 0);
  }
  EXPECT_GT(losses.size(), 6u);  // the copies do reach the model
}

TEST_F(Perturbed, CopiesAreRemovedUnlessTheyAreToBeKept) {
  const Config config = tiny_config(own_table());
  judged(config);
  EXPECT_FALSE(fs::exists(out() / "perturbed"));
  const nlohmann::json result = evaluated(out(), {.perturb = true, .keep_perturbed = true});
  ASSERT_EQ(result["conditions"].size(), 12u);
  for (const auto& [name, condition] : result["conditions"].items()) {
    EXPECT_EQ(condition["sha256"], sha256_file(out() / "perturbed" / ("test-" + name + ".csv")));
  }
  folder_.write("run/perturbed/mine.txt", "mine");
  evaluated(out(), {.perturb = true, .again = true});
  EXPECT_FALSE(fs::exists(out() / "perturbed/test-noise-0.1.csv"));
  EXPECT_TRUE(fs::exists(out() / "perturbed/mine.txt"));
}

TEST_F(Perturbed, ValidationRowsHaveCopiesOfTheirOwn) {
  const nlohmann::json result = judged(tiny_config(own_table()), true, Split::valid);
  EXPECT_TRUE(fs::exists(out() / "perturbed/valid-missing-0.1.csv"));
  EXPECT_NE(result["conditions"]["missing-0.1"]["sha256"], record_["conditions"]["missing-0.1"]["sha256"]);
}

// What the run itself says of each copy is what the evaluation reports.
TEST_F(Perturbed, EvaluateSaysItWhenAsked) {
  train(tiny_config({"gate.k=20"}), out());
  EXPECT_FALSE(evaluated(out(), {}).contains("rob_mu"));
  const nlohmann::json result = evaluated(out());
  EXPECT_TRUE(result.contains("rob_mu"));
  TableRun run(out(), one_thread());
  for (const Perturbation& perturbation : perturbations()) {
    const PerturbedPredictions said = run.predict_perturbed(Split::test, perturbation, false);
    const auto& condition = result["conditions"][perturbation.name];
    EXPECT_EQ(condition["sha256"], said.sha256) << perturbation.name;
    EXPECT_EQ(condition["nll"], nll(said.predictions)) << perturbation.name;
    EXPECT_EQ(condition["auc"], auc(said.predictions)) << perturbation.name;
  }
}

TEST_F(Perturbed, GraphsAreJudgedToo) {
  for (const char* task : {"nodes", "links"}) {
    const auto config = folder_.write("graph.toml",
                                      "[data]\nsource = 'planted-graph'\nrows = 300\n[model]\nhidden = 8\n"
                                      "[train]\nepochs = 5\nbatch = 200\n[graph]\ntask = '" +
                                          std::string(task) + "'\n");
    const fs::path run = folder_.path() / task;
    train(read_config(config, {}), run);
    const nlohmann::json result = evaluated(run);
    ASSERT_EQ(result["conditions"].size(), 12u) << task;
    expect_means(result);
    std::set<std::string> hashes;
    for (const auto& condition : result["conditions"]) hashes.insert(condition["sha256"].get<std::string>());
    EXPECT_GT(hashes.size(), 8u) << task;
    const std::string kept = message_of<UserError>([&] { evaluated(run, {.perturb = true, .keep_perturbed = true}); });
    EXPECT_TRUE(contains(kept, "--keep-perturbed writes files")) << kept;
  }
}

TEST_F(Perturbed, APeerIsJudgedByTheSameMeasures) {
  const fs::path folder = peer({"missing-0.1", "noise-0.2"}, full_record());
  const nlohmann::json result = evaluated(folder);
  ASSERT_EQ(result["conditions"].size(), 2u);
  EXPECT_EQ(result["missing_conditions"].size(), 10u);
  expect_means(result);
  const Predictions noisy = read_predictions(folder / "predictions/test-noise-0.2.csv");
  const auto& condition = result["conditions"]["noise-0.2"];
  EXPECT_EQ(condition["sha256"], sha256("noise-0.2"));
  EXPECT_EQ(condition["nll"], nll(noisy));
  EXPECT_EQ(condition["auc"], auc(noisy));
  EXPECT_EQ(condition["accuracy"], accuracy(noisy));
  EXPECT_EQ(condition["ece"], ece_binary(noisy));
}

TEST_F(Perturbed, ACompletePeerLacksNothing) {
  std::vector<std::string> names;
  for (const Perturbation& perturbation : perturbations()) names.push_back(perturbation.name);
  const nlohmann::json result = evaluated(peer(names, full_record()));
  EXPECT_EQ(result["conditions"].size(), 12u);
  EXPECT_FALSE(result.contains("missing_conditions"));
}

TEST_F(Perturbed, PeersAreComparedOverTheConditionsThatAllHave) {
  const fs::path folder = peer({"missing-0.1", "noise-0.2", "occlude-0.3"}, full_record());
  const Evaluation all = evaluate(modalities(), folder, Split::test, one_thread(), {.perturb = true});
  Evaluation few = all;
  auto& conditions = few.robustness->conditions;
  conditions.erase("occlude-0.3");
  conditions.at("missing-0.1").auc = 0.5;
  conditions.at("noise-0.2").auc = 0.25;
  const std::string text = compare({all, few});
  EXPECT_TRUE(contains(text, "0.3750")) << text;
  EXPECT_TRUE(contains(text, "the 2 conditions that all have")) << text;
  EXPECT_FALSE(contains(text, "not the same for all")) << text;
  conditions.at("noise-0.2").sha256 = "another";
  EXPECT_TRUE(contains(compare({all, few}), "not the same for all")) << text;
  EXPECT_TRUE(contains(describe(all), "mean over 3 perturbed copies")) << describe(all);
}

TEST_F(Perturbed, RunsOnTheSameCopiesNeedNoRemark) {
  train(tiny_config({"gate.k=20"}), out());
  const Evaluation result = evaluate(modalities(), out(), Split::test, one_thread(), {.perturb = true});
  EXPECT_TRUE(contains(describe(result), "mean over 12 perturbed copies")) << describe(result);
  EXPECT_FALSE(contains(compare({result, result}), "Rob μ:")) << compare({result, result});
}

TEST_F(Perturbed, PeersWithoutCopiesAreRefused) {
  const auto refusal = [](const fs::path& folder) { return message_of<UserError>([&] { evaluated(folder); }); };
  const fs::path folder = peer({}, full_record());
  EXPECT_TRUE(contains(refusal(folder), "no test-<condition>.csv")) << refusal(folder);
  EXPECT_TRUE(contains(refusal(folder / "predictions/test.csv"), "Give the folder")) << refusal(folder / "predictions/test.csv");
  for (const char* damaged : {"{", "[]", "{\"conditions\": 3}", "{\"conditions\": {\"noise-0.1\": {}}}"}) {
    folder_.write("peer/perturbed.json", damaged);
    EXPECT_TRUE(contains(refusal(folder), "perturbed.json is damaged")) << damaged;
  }
  fs::remove(folder / "perturbed.json");
  EXPECT_TRUE(contains(refusal(folder), "data export --perturb")) << refusal(folder);
}

TEST_F(Perturbed, PredictionsOfOtherRowsAreRefused) {
  const fs::path folder = peer({"missing-0.1"}, full_record());
  write_predictions(folder / "predictions/test-missing-0.1.csv", calibrated_model(299, 2, 1, 1));
  const std::string message = message_of<UserError>([&] { evaluated(folder); });
  EXPECT_TRUE(contains(message, "other rows or labels")) << message;
}

TEST_F(Perturbed, AnExportWithoutCopiesForgetsEarlierOnes) {
  const Config config = tiny_config(own_table());
  const TableDataset data = load_table(config.data, 5);
  const Schema schema = export_table(data, config.table, config.columns, config.data.types, exported());
  export_perturbed(data, schema, 5, exported());
  ASSERT_TRUE(fs::exists(exported() / "perturbed.json"));
  export_table(data, config.table, config.columns, config.data.types, exported());
  EXPECT_FALSE(fs::exists(exported() / "perturbed.json"));
  const nlohmann::json split = nlohmann::json::parse(read_file(exported() / "split.json"));
  EXPECT_EQ(split["numeric"], (std::vector<std::string>{"x", "weight"}));
  EXPECT_EQ(split["categorical"], (std::vector<std::string>{"colour", "town"}));
}

}  // namespace
}  // namespace l0gm
