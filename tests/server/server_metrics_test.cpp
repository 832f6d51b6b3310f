#include "server/server_metrics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/fake_predictor.h"

namespace l0gm {
namespace {

using testing_tools::FakePredictor;

std::unique_ptr<ServedModel> model(const char* column, const char* version) {
  const nlohmann::json manifest = {{"schema", {{"class_rows", {30, 10}}, {"columns", {{{"name", column}, {"missing", 4}}}}}}};
  return std::make_unique<ServedModel>("m", std::make_unique<FakePredictor>(std::vector<std::string>{column}), manifest, version);
}

TEST(ServerMetrics, CountsPerModelColumnAndClass) {
  ServerMetrics metrics;
  ModelMetrics& of = metrics.add_model("m");
  const auto served = model("a \"b\"\\\n", "v1");
  of.loaded(*served);
  const std::vector<float> probabilities = {0.75F, 0.25F, 0.25F, 0.75F};
  of.count_rows(served->predictor(), {{2}, {3}, {4}}, probabilities.data(), 2);
  of.count_request(200);
  of.count_request(400);
  of.seconds.add(0.0002);
  metrics.count_answer("page", 200);
  const std::string text = metrics.text();
  for (const char* line :
       {"l0gm_rows_total{model=\"m\"} 2\n", "l0gm_requests_total{model=\"m\",code=\"400\"} 1\n",
        "l0gm_unseen_total{model=\"m\",column=\"a \\\"b\\\"\\\\\\n\"} 2\n",
        "l0gm_unreadable_total{model=\"m\",column=\"a \\\"b\\\"\\\\\\n\"} 3\n",
        "l0gm_missing_total{model=\"m\",column=\"a \\\"b\\\"\\\\\\n\"} 4\n", "l0gm_mean_score{model=\"m\",class=\"yes\"} 0.5\n",
        "l0gm_training_share{model=\"m\",class=\"yes\"} 0.25\n",
        "l0gm_training_missing_share{model=\"m\",column=\"a \\\"b\\\"\\\\\\n\"} 0.1\n",
        "l0gm_model_info{model=\"m\",version=\"v1\"} 1\n", "l0gm_answers_total{route=\"page\",code=\"200\"} 1\n",
        "l0gm_request_seconds_bucket{model=\"m\",le=\"0.0001\"} 0\n",
        "l0gm_request_seconds_bucket{model=\"m\",le=\"0.00025\"} 1\n", "l0gm_request_seconds_bucket{model=\"m\",le=\"+Inf\"} 1\n",
        "l0gm_request_seconds_count{model=\"m\"} 1\n"}) {
    EXPECT_NE(text.find(line), text.npos) << line << text;
  }
}

TEST(ServerMetrics, EveryLineBelongsToTheNameAboveIt) {
  ServerMetrics metrics;
  metrics.add_model("m").loaded(*model("a", "v1"));
  metrics.add_model("n").loaded(*model("b", "v1"));
  std::string name;
  const std::string text = metrics.text();
  for (size_t at = 0; at < text.size();) {
    const std::string line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    if (line.starts_with("# TYPE ")) {
      name = line.substr(7, line.find(' ', 7) - 7);
    } else if (!line.starts_with("#")) {
      EXPECT_TRUE(line.starts_with(name)) << line << " under " << name;
    }
  }
}

TEST(ServerMetrics, TellsOfRefusedReloads) {
  ServerMetrics metrics;
  ModelMetrics& of = metrics.add_model("m");
  of.loaded(*model("a", "v1"));
  of.refused_reload("damaged");
  EXPECT_EQ(of.refusal(), "damaged");
  EXPECT_NE(metrics.text().find("l0gm_reload_refused{model=\"m\"} 1\n"), std::string::npos);
  of.loaded(*model("b", "v2"));
  EXPECT_EQ(of.refusal(), "");
  const std::string text = metrics.text();
  for (const char* line : {"l0gm_reload_refused{model=\"m\"} 0\n", "l0gm_refused_reloads_total{model=\"m\"} 1\n",
                           "l0gm_reloads_total{model=\"m\"} 1\n", "l0gm_unseen_total{model=\"m\",column=\"a\"} 0\n",
                           "l0gm_unseen_total{model=\"m\",column=\"b\"} 0\n"}) {
    EXPECT_NE(text.find(line), text.npos) << line;
  }
}

}  // namespace
}  // namespace l0gm
