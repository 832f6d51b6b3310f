#include "server/model_description.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/sample_model.h"
#include "server/fake_predictor.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;
using nlohmann::json;

TEST(ModelDescription, InputsHaveTheirRangesAndCategories) {
  const TemporaryFolder folder;
  CompactHeader header = sample_header({});
  header.schema.columns[5].notation = 'd';
  header.about = {{"closed_columns", {"shoe"}}, {"options", {{"secret.path", "/home/me"}}}, {"gate", {{"units", 4}}}};
  const auto path = folder.path() / "m.l0gm";
  write_compact(path, header, sample_net(header.schema, SampleOptions{}));
  const json told = json::parse(ServedModel::open("m", path)->description());
  EXPECT_EQ(told["label"], "wears a hat");
  EXPECT_EQ(told["inputs"][0], (json{{"name", "age"},
                                     {"type", "number"},
                                     {"low", -1.0},
                                     {"high", 90.0},
                                     {"whole", false},
                                     {"typical", 30.0},
                                     {"steps", {0.0, 25.0, 50.0, 100.0}},
                                     {"missing_in_training", 0.0}}));
  EXPECT_EQ(told["inputs"][2]["type"], "category");
  EXPECT_EQ(told["inputs"][2]["categories"], (json{"red", "green", "sky blue"}));
  EXPECT_EQ(told["inputs"][3]["type"], "text") << "hashed: any text has a place";
  EXPECT_EQ(told["inputs"][4]["type"], "list");
  EXPECT_EQ(told["inputs"][4]["separator"], "|");
  EXPECT_EQ(told["inputs"][5]["type"], "date");
  EXPECT_EQ(told["inputs"][5]["high"], "1970-04-01");
  EXPECT_EQ(told["about"]["closed_columns"], json{"shoe"});
  EXPECT_EQ(told["calibration_can_be_chosen"], true);
  EXPECT_EQ(told.dump().find("/home/me"), std::string::npos);
}

TEST(ModelDescription, TextsAndFilesThatSayLittle) {
  const ServedModel texts("t", std::make_unique<FakePredictor>(std::vector<std::string>{"text"}, true), json(), "v");
  const json told = json::parse(texts.description());
  EXPECT_EQ(told["input"], "texts");
  EXPECT_EQ(told["inputs"], (json::array({{{"name", "text"}, {"type", "long_text"}}})));
  const ServedModel rows("r", std::make_unique<FakePredictor>(std::vector<std::string>{"a"}), json(), "v");
  EXPECT_EQ(json::parse(rows.description())["inputs"], (json::array({{{"name", "a"}, {"type", "text"}}})));
}

TEST(ModelDescription, ListsNoMoreCategoriesThanAFormCanHold) {
  json manifest = {{"schema", {{"columns", {{{"name", "node"}, {"type", "categorical"}}}}, {"fields", json::array()}}}};
  json vocabulary = json::array();
  for (int i = 0; i < 2000; ++i) vocabulary.push_back(std::to_string(i));
  manifest["schema"]["fields"].push_back({{"column", 0}, {"kind", "categorical"}, {"vocabulary", vocabulary}});
  const ServedModel model("n", std::make_unique<FakePredictor>(std::vector<std::string>{"node"}), manifest, "v");
  const json input = json::parse(model.description())["inputs"][0];
  EXPECT_EQ(input["categories"].size(), 500U);
  EXPECT_EQ(input["categories_in_all"], 2000);
}

}  // namespace
}  // namespace l0gm
