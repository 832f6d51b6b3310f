#include "study/columns.h"

#include <gtest/gtest.h>

namespace l0gm {
namespace {

// Two sizes, two repeats; of the larger size chance was judged once.
ColumnsResult made_result() {
  ColumnsResult result;
  result.columns = 5;
  result.losses["our dense model"][2] = {{"gate", {0.40, 0.42}}, {"chance", {0.60, 0.64}}};
  result.losses["our dense model"][4] = {{"gate", {0.3900, 0.3900}}, {"chance", {0.3895}}};
  result.chosen[2] = {{"gate", {{"a", "b"}, {"a", "b"}}}, {"chance", {{"c", "d"}, {"a", "e"}}}};
  result.chosen[4] = {{"gate", {{"a", "b", "c", "d"}, {"a", "b", "c", "e"}}}};
  return result;
}

TEST(Columns, JsonHasLossesChoicesAndHowMuchTheyAgree) {
  const nlohmann::json json = made_result().to_json();
  EXPECT_EQ(json.at("columns"), 5);
  EXPECT_EQ(json.at("nll").at("our dense model").at("2").at("gate"), nlohmann::json({0.40, 0.42}));
  EXPECT_EQ(json.at("chosen").at("4").at("gate")[1], nlohmann::json({"a", "b", "c", "e"}));
  EXPECT_DOUBLE_EQ(json.at("agreement").at("2").at("gate").get<double>(), 1);
  EXPECT_LT(json.at("agreement").at("2").at("chance").get<double>(), 0.5);
}

TEST(Columns, PageMarksTheBestAndWhatIsAsGood) {
  const std::string page = made_result().markdown();
  EXPECT_NE(page.find("| judged by our dense model | gate"), std::string::npos) << "the gate comes first\n" << page;
  EXPECT_NE(page.find("**0.4100**"), std::string::npos) << page;
  EXPECT_NE(page.find("0.6200"), std::string::npos) << page;
  EXPECT_NE(page.find("**0.3895**"), std::string::npos) << "one repeat is a mean as well\n" << page;
  EXPECT_NE(page.find("2 of 2"), std::string::npos) << ".3900 is within .2 % of .3895\n" << page;
  EXPECT_NE(page.find("1 of 2"), std::string::npos) << page;
  EXPECT_NE(page.find("- 4: a 2, b 2, c 2, d 1, e 1 (agreement"), std::string::npos) << page;
  EXPECT_EQ(page.find("Missing"), std::string::npos);
}

TEST(Columns, WhatIsMissingIsNamed) {
  ColumnsResult result = made_result();
  result.missing.emplace_back("the judge LightGBM");
  EXPECT_NE(result.markdown().find("Missing: the judge LightGBM"), std::string::npos);
  EXPECT_EQ(result.to_json().at("missing"), nlohmann::json({"the judge LightGBM"}));
}

}  // namespace
}  // namespace l0gm
