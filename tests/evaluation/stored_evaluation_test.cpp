#include "evaluation/stored_evaluation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "evaluation/evaluate.h"
#include "l0gm/error.h"
#include "metrics/predictions.h"
#include "model/tensor_file.h"
#include "training/tiny_run.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing_tools::one_thread;
using testing_tools::tiny_config;
using testing_tools::train;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class StoredEvaluation : public testing::Test {
 protected:
  // A run on a file, evaluated once.
  void SetUp() override {
    std::string text = "x,colour,y\n";
    for (int i = 0; i < 300; ++i) {
      text += std::to_string(i * 37 % 101) + "," + (i % 3 ? "red" : "blue") + "," + (i * 37 % 101 > 50 ? "yes" : "no") + "\n";
    }
    table_ = folder_.write("t.csv", text);
    train(tiny_config({"data.source=csv", "data.train=" + table_.string(), "data.label=y", "gate.k=4"}), out());
    first_ = evaluated();
  }
  nlohmann::json evaluated(const EvaluateOptions& options = {}, Split split = Split::test) const {
    return evaluate(modalities(), out(), split, one_thread(), options).to_json();
  }
  // Whether the next evaluation computes: then it writes its predictions anew. The result is in `result_`.
  bool computes(const EvaluateOptions& options = {}, Split split = Split::test) {
    const fs::path file = predictions(split);
    const auto long_ago = fs::file_time_type::clock::now() - 1000h;
    if (fs::exists(file)) fs::last_write_time(file, long_ago);
    const auto before = fs::exists(file) ? fs::last_write_time(file) : fs::file_time_type{};
    result_ = evaluated(options, split);
    return fs::last_write_time(file) != before;
  }
  // The stored file with some of it changed.
  void alter(const std::function<void(nlohmann::json&)>& change) const {
    nlohmann::json stored = nlohmann::json::parse(read_file(file()));
    change(stored);
    write_file_atomically(file(), stored.dump());
  }
  fs::path predictions(Split split = Split::test) const {
    return out() / "predictions" / (std::string(name_of_enum(split)) + ".csv");
  }
  fs::path out() const { return folder_.path() / "run"; }
  fs::path file() const { return out() / "evaluation/test.json"; }
  TemporaryFolder folder_;
  fs::path table_;
  nlohmann::json first_, result_;
};

TEST_F(StoredEvaluation, IsTheAnswerWhileNothingHasChanged) {
  ASSERT_TRUE(fs::exists(file()));
  EXPECT_FALSE(computes());
  EXPECT_EQ(result_, first_);
  alter([](nlohmann::json& stored) { stored["evaluation"]["nll"] = 0.125; });  // what computing would not say
  EXPECT_FALSE(computes());
  EXPECT_EQ(result_["nll"], 0.125);
  EXPECT_TRUE(computes({.again = true}));
  EXPECT_EQ(result_, first_);
  EXPECT_FALSE(computes());
  EXPECT_EQ(result_, first_);
}

TEST_F(StoredEvaluation, EverySplitHasItsOwn) {
  EXPECT_TRUE(computes({}, Split::valid));
  EXPECT_EQ(result_["split"], "valid");
  EXPECT_FALSE(computes({}, Split::valid));
  EXPECT_EQ(result_["split"], "valid");
  EXPECT_FALSE(computes());
  EXPECT_EQ(result_, first_);
}

TEST_F(StoredEvaluation, TouchedDataIsReadAgainAndChangedDataRefused) {
  fs::last_write_time(table_, fs::last_write_time(table_) - 1h);  // the same bytes
  EXPECT_TRUE(computes());
  EXPECT_EQ(result_, first_);
  EXPECT_FALSE(computes());
  const std::string good = read_file(table_);
  folder_.write("t.csv", good + "7,red,no\n");
  EXPECT_TRUE(contains(message_of<UserError>([&] { evaluated(); }), "has changed since"));
  fs::remove(table_);
  EXPECT_TRUE(contains(message_of<UserError>([&] { evaluated(); }), "t.csv"));
  folder_.write("t.csv", good);
  EXPECT_TRUE(computes());
  EXPECT_EQ(result_, first_);
}

TEST_F(StoredEvaluation, OtherWeightsAreJudgedAnew) {
  const fs::path weights = out() / "checkpoint/best.safetensors";
  TensorFile tensors = load_tensors(weights);
  tensors.tensors.at("head.bias").add_(0.25);
  tensors.metadata.erase("sha256");
  save_tensors(weights, tensors.tensors, tensors.metadata);
  EXPECT_TRUE(computes());
  EXPECT_NE(result_["nll"], first_["nll"]);
  EXPECT_FALSE(computes());
}

TEST_F(StoredEvaluation, OtherPredictionsAreMadeAnew) {
  const std::string good = read_file(predictions());
  Predictions other = read_predictions(predictions());
  std::swap(other.labels.front(), other.labels.back());
  std::reverse(other.probabilities.begin(), other.probabilities.end());
  write_predictions(predictions(), other);
  EXPECT_TRUE(computes());
  EXPECT_EQ(result_, first_);
  EXPECT_TRUE(read_file(predictions()) == good);
  fs::remove(predictions());
  EXPECT_TRUE(computes());
  EXPECT_EQ(result_, first_);
  EXPECT_TRUE(read_file(predictions()) == good);
}

TEST_F(StoredEvaluation, AnotherSummaryIsReadAgain) {
  nlohmann::json summary = nlohmann::json::parse(read_file(out() / "summary.json"));
  summary["projected_units"] = 77;
  write_file_atomically(out() / "summary.json", summary.dump());
  EXPECT_TRUE(computes());
  EXPECT_EQ(result_["projected_units"], 77);
}

TEST_F(StoredEvaluation, ADamagedOneIsMadeAgain) {
  const std::string good = read_file(file());
  std::vector<std::string> damaged = {"", "{", "null", "[]", "{}", "3", "\xff", good.substr(0, good.size() / 2)};
  for (const char* part : {"basis", "files", "evaluation"}) {
    for (const nlohmann::json& instead : {nlohmann::json(nullptr), nlohmann::json(3), nlohmann::json::object({{"a", 1}})}) {
      nlohmann::json stored = nlohmann::json::parse(good);
      stored[part] = instead;
      damaged.push_back(stored.dump());
    }
    nlohmann::json stored = nlohmann::json::parse(good);
    stored.erase(part);
    damaged.push_back(stored.dump());
  }
  nlohmann::json stored = nlohmann::json::parse(good);
  stored["evaluation"]["confusion"] = "much";
  damaged.push_back(stored.dump());
  for (const std::string& text : damaged) {
    write_file_atomically(file(), text);
    EXPECT_TRUE(computes()) << text.substr(0, 200);
    EXPECT_EQ(result_, first_) << text.substr(0, 200);
    EXPECT_FALSE(computes()) << "it is whole again";
  }
  fs::remove_all(file().parent_path());
  EXPECT_TRUE(computes());
  EXPECT_EQ(result_, first_);
}

TEST_F(StoredEvaluation, AnotherProgramsIsMadeAgain) {
  for (const char* what : {"l0gm", "commit", "device", "config", "schema"}) {
    alter([&](nlohmann::json& stored) {
      ASSERT_TRUE(stored["basis"].contains(what));
      stored["basis"][what] = "another";
    });
    EXPECT_TRUE(computes()) << what;
    EXPECT_EQ(result_, first_) << what;
  }
}

TEST_F(StoredEvaluation, PerturbedFiguresAskedForLaterAreComputed) {
  EXPECT_FALSE(first_.contains("rob_mu"));
  EXPECT_TRUE(computes({.perturb = true}));
  const nlohmann::json perturbed = result_;
  ASSERT_TRUE(perturbed.contains("rob_mu"));
  EXPECT_EQ(perturbed["conditions"].size(), 12u);
  EXPECT_FALSE(computes({.perturb = true}));
  EXPECT_EQ(result_, perturbed);
  EXPECT_FALSE(computes()) << "the rest of it serves those who do not ask for them";
  EXPECT_EQ(result_, first_);
  EXPECT_FALSE(computes({.perturb = true})) << "and they are still there";
  EXPECT_TRUE(computes({.perturb = true, .keep_perturbed = true})) << "copies have to be made to be kept";
  EXPECT_EQ(result_, perturbed);
  EXPECT_TRUE(fs::exists(out() / "perturbed/test-noise-0.1.csv"));
}

TEST_F(StoredEvaluation, ARunThatWasMovedKeepsIt) {
  fs::rename(out(), folder_.path() / "elsewhere");
  const nlohmann::json moved = evaluate(modalities(), folder_.path() / "elsewhere", Split::test, one_thread()).to_json();
  EXPECT_EQ(moved["run"], (folder_.path() / "elsewhere").string());
  nlohmann::json wanted = first_;
  wanted["run"] = moved["run"];
  EXPECT_EQ(moved, wanted);
}

// A modality's own figures are stored with the others.
TEST_F(StoredEvaluation, OfAGraphHasItsOwnFigures) {
  const auto config = folder_.write("graph.toml",
                                    "[data]\nsource = 'planted-graph'\nrows = 300\n[model]\nhidden = 8\n"
                                    "[train]\nepochs = 5\nbatch = 200\n[graph]\ntask = 'links'\n");
  const fs::path run = folder_.path() / "links";
  train(read_config(config, {}), run);
  const Evaluation computed = evaluate(modalities(), run, Split::test, one_thread());
  ASSERT_TRUE(computed.further.contains("mrr"));
  EXPECT_EQ(computed.nouns.rows, "pairs of nodes");
  const std::optional<Evaluation> stored = stored_evaluation(RunFolder::open(run), Split::test, one_thread(), false);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->further, computed.further);
  EXPECT_EQ(evaluate(modalities(), run, Split::test, one_thread()).to_json(), computed.to_json());
  EXPECT_FALSE(stored_evaluation(RunFolder::open(run), Split::test, one_thread(), true).has_value());
  EXPECT_FALSE(stored_evaluation(RunFolder::open(run), Split::valid, one_thread(), false).has_value());
}

}  // namespace
}  // namespace l0gm
