#include "server/served_model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/sample_model.h"
#include "server/request_error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

std::shared_ptr<const ServedModel> sample(const TemporaryFolder& folder, CompactHeader header) {
  const auto path = folder.path() / "m.l0gm";
  write_compact(path, header, sample_net(header.schema, SampleOptions{}));
  return ServedModel::open("m", path);
}

TEST(ServedModel, GivesBothProbabilities) {
  const TemporaryFolder folder;
  const auto model = sample(folder, sample_header({}));
  EXPECT_FALSE(model->predictor().is_calibrated());
  EXPECT_EQ(&model->predictor(std::nullopt), &model->predictor());
  const Predictor &raw = model->predictor(false), &calibrated = model->predictor(true);
  EXPECT_TRUE(calibrated.is_calibrated());
  std::vector<float> p(2), q(2);
  InputCounts counts = raw.empty_counts();
  const std::vector<std::string_view> cells(sample_rows()[0].begin(), sample_rows()[0].end());
  model->predict(raw, {cells, 1}, p, counts);
  model->predict(calibrated, {cells, 1}, q, counts);
  const double logit = std::log(p[1] / p[0]), scaled = std::log(q[1] / q[0]);
  EXPECT_NEAR(scaled, logit / 1.5, 1e-5);
  EXPECT_NE(model->answer_start(raw).find("\"calibrated\":false,\"classes\":[\"k\",\"l\"]"), std::string::npos);
}

TEST(ServedModel, WithoutACalibratorThereIsOneKind) {
  const TemporaryFolder folder;
  CompactHeader header = sample_header({});
  header.calibrator = {};
  const auto model = sample(folder, header);
  EXPECT_FALSE(model->has_both());
  EXPECT_NO_THROW(model->predictor(false));
  EXPECT_THROW(model->predictor(true), RequestError);
}

TEST(ServedModel, HostileNamesStayTexts) {
  const TemporaryFolder folder;
  CompactHeader header = sample_header({});
  const std::string hostile = "</script><img src=x onerror=alert(1)>\"\\\n";
  header.schema.classes[1] = hostile;
  header.schema.columns[0].name = hostile;
  const auto model = sample(folder, header);
  const auto told = nlohmann::json::parse(model->description());
  EXPECT_EQ(told["classes"][1], hostile);
  EXPECT_EQ(told["inputs"][0]["name"], hostile);
  EXPECT_EQ(nlohmann::json::parse(model->answer_start(model->predictor()) + "]}")["classes"][1], hostile);
}

}  // namespace
}  // namespace l0gm
