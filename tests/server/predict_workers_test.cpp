#include "server/predict_workers.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "server/fake_predictor.h"

namespace l0gm {
namespace {

using testing_tools::Calls;
using testing_tools::FakePredictor;

class Office {
 public:
  explicit Office(BatchOptions options, bool texts = false, bool concurrent = false)
      : model_(std::make_shared<ServedModel>("m",
                                             std::make_unique<FakePredictor>(std::vector<std::string>{texts ? "text" : "p"},
                                                                             texts, calls, concurrent),
                                             nlohmann::json(), "v")),
        workers_(std::make_unique<PredictWorkers>(options, [this](std::vector<PredictWorkers::Reply> replies) {
          const std::lock_guard lock(mutex_);
          for (auto& [connection, response] : replies) answers_.emplace(connection, std::move(response));
        })) {}
  std::shared_ptr<Calls> calls = std::make_shared<Calls>();
  ModelMetrics metrics;

  std::unique_ptr<PredictJob> job(uint64_t connection, std::string body) const {
    auto made = std::make_unique<PredictJob>();
    made->connection = connection;
    made->model = model_;
    made->metrics = const_cast<ModelMetrics*>(&metrics);
    made->body = std::move(body);
    made->arrived = ServerClock::now();
    return made;
  }
  std::vector<PredictWorkers::Reply> here(std::vector<std::unique_ptr<PredictJob>>& jobs) { return workers_->predict_here(jobs); }
  // All together; the answers by connection, when all are there.
  const std::map<uint64_t, HttpResponse>& answers(const std::vector<std::string>& bodies) {
    std::vector<std::unique_ptr<PredictJob>> jobs;
    for (size_t i = 0; i < bodies.size(); ++i) jobs.push_back(job(i, bodies[i]));
    return answers(std::move(jobs));
  }
  const std::map<uint64_t, HttpResponse>& answers(std::vector<std::unique_ptr<PredictJob>> jobs) {
    workers_->push(jobs);
    workers_.reset();  // finishes what waits
    return answers_;
  }

 private:
  std::shared_ptr<const ServedModel> model_;
  std::mutex mutex_;
  std::map<uint64_t, HttpResponse> answers_;
  std::unique_ptr<PredictWorkers> workers_;
};

std::string body_of(const std::vector<std::string>& cells, const char* column = "p") {
  nlohmann::json rows = nlohmann::json::array();
  for (const std::string& cell : cells) rows.push_back({{column, cell}});
  return nlohmann::json{{"rows", rows}}.dump();
}

std::vector<float> second_class(const HttpResponse& response) {
  std::vector<float> shares;
  const nlohmann::json answer = nlohmann::json::parse(response.body);
  for (const auto& row : answer.at("probabilities")) shares.push_back(row.at(1).get<float>());
  return shares;
}

TEST(PredictWorkersThreads, EachRequestGetsItsOwnRows) {
  Office office({.wait = std::chrono::milliseconds(20), .threads = 3});
  std::vector<std::string> bodies;
  for (int i = 0; i < 60; ++i) bodies.push_back(body_of({std::to_string(i / 100.0), std::to_string(i / 200.0)}));
  const auto& answers = office.answers(bodies);
  ASSERT_EQ(answers.size(), 60U);
  for (int i = 0; i < 60; ++i) {
    const auto shares = second_class(answers.at(static_cast<uint64_t>(i)));
    ASSERT_EQ(shares.size(), 2U);
    EXPECT_FLOAT_EQ(shares[0], static_cast<float>(i) / 100);
    EXPECT_FLOAT_EQ(shares[1], static_cast<float>(i) / 200);
  }
  EXPECT_LT(office.calls->count, 60);
  EXPECT_EQ(office.calls->most_at_once, 1) << "the predictor serves one call at a time";
}

TEST(PredictWorkersThreads, BatchesAreBoundedByRows) {
  Office office({.rows = 8, .wait = std::chrono::milliseconds(20)});
  const auto& answers = office.answers(std::vector<std::string>(40, body_of({"0.5", "0.5", "0.5"})));
  EXPECT_EQ(answers.size(), 40U);
  EXPECT_LE(office.calls->most_rows, 8);
  EXPECT_GT(office.calls->most_rows, 3);
}

TEST(PredictWorkersThreads, BatchesOfTextsAreBoundedByTokens) {
  Office office({.rows = 1000, .tokens = 100, .wait = std::chrono::milliseconds(20)}, true);
  const std::string text(160, 'a');  // about 42 tokens
  const auto& answers = office.answers(std::vector<std::string>(10, body_of({text}, "text")));
  EXPECT_EQ(answers.size(), 10U);
  EXPECT_EQ(office.calls->most_rows, 2);
  // One request that is more than a batch is predicted in parts.
  Office large({.rows = 1000, .tokens = 100}, true);
  EXPECT_EQ(second_class(large.answers({body_of(std::vector<std::string>(9, text), "text")}).at(0)).size(), 9U);
  EXPECT_LE(large.calls->most_rows, 3);
  EXPECT_GE(large.calls->count, 3);
}

TEST(PredictWorkersThreads, AMistakeConcernsItsOwnRequest) {
  Office office({.wait = std::chrono::milliseconds(20)});
  const auto& answers = office.answers({body_of({"0.1"}), body_of({"0.2", "x"}), "not json", body_of({"0.3"}), body_of({"new"})});
  ASSERT_EQ(answers.size(), 5U);
  EXPECT_FLOAT_EQ(second_class(answers.at(0))[0], 0.1F);
  EXPECT_EQ(answers.at(1).status, 400);
  EXPECT_NE(answers.at(1).body.find("row 1, counted from 0"), std::string::npos) << answers.at(1).body;
  EXPECT_EQ(answers.at(2).status, 400);
  EXPECT_FLOAT_EQ(second_class(answers.at(3))[0], 0.3F);
  EXPECT_EQ(nlohmann::json::parse(answers.at(4).body)["unseen"]["p"], 1);
  EXPECT_EQ(answers.at(0).body.find("unseen"), std::string::npos);
}

TEST(PredictWorkersThreads, SmallRequestsOfFastModelsArePredictedByTheCaller) {
  Office office({}, false, true);
  std::vector<std::unique_ptr<PredictJob>> jobs;
  jobs.push_back(office.job(0, body_of({"0.5"})));
  EXPECT_TRUE(office.here(jobs).empty()) << "nobody knows yet how long a row takes";
  EXPECT_EQ(jobs.size(), 1U);
  jobs.front()->model->count_seconds(1e-6);
  jobs.push_back(office.job(1, "not json"));
  jobs.push_back(office.job(2, body_of(std::vector<std::string>(1000, "0.5"))));  // too much for it
  jobs.push_back(office.job(3, body_of({"0.25", "new"})));
  const auto replies = office.here(jobs);
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0]->connection, 2U);
  ASSERT_EQ(replies.size(), 3U);
  for (const auto& [connection, response] : replies) EXPECT_EQ(response.status, connection == 1 ? 400 : 200) << response.body;
  jobs.front()->model->count_seconds(1);
  jobs.push_back(office.job(4, body_of({"0.5"})));
  EXPECT_TRUE(office.here(jobs).empty()) << "rows take too long";
}

TEST(PredictWorkersThreads, LateRequestsAreGivenUp) {
  Office office({.limit = std::chrono::milliseconds(50)});
  std::vector<std::unique_ptr<PredictJob>> jobs;
  jobs.push_back(office.job(0, body_of({"0.1"})));
  jobs.back()->arrived -= std::chrono::seconds(1);
  EXPECT_EQ(office.answers(std::move(jobs)).at(0).status, 503);
  EXPECT_EQ(office.calls->count, 0);
}

TEST(PredictWorkersThreads, CsvIsAnsweredAsAsked) {
  Office office({});
  std::vector<std::unique_ptr<PredictJob>> jobs;
  jobs.push_back(office.job(0, "p\n0.25\n0.75\n"));
  jobs.back()->format = jobs.back()->answer = BodyFormat::csv;
  const HttpResponse& response = office.answers(std::move(jobs)).at(0);
  EXPECT_EQ(response.content_type, "text/csv; charset=utf-8");
  EXPECT_EQ(response.body, "row,prediction,p_no,p_yes\n0,no,0.75,0.25\n1,yes,0.25,0.75\n");
}

TEST(PredictWorkersThreads, ThereIsNoOtherCalibration) {
  Office office({});
  EXPECT_EQ(office.answers({R"({"rows": [{"p": 0.5}], "calibrated": true})"}).at(0).status, 400);
}

}  // namespace
}  // namespace l0gm
