#include "report/report.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "l0gm/error.h"
#include "report/page.h"
#include "report/sample_run.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

class Reports : public ::testing::Test {
 protected:
  void add(const std::string& name, const SampleRun& run) { make_sample_run(folder_.path() / name, run); }
  nlohmann::json data(const std::string& below = "") {
    return report_data({folder_.path() / below}, {{"data.train"}, false, "none"});
  }
  std::string page(const std::string& below = "") {
    return make_report({folder_.path() / below}, {{"data.train"}, false, "none"}).html;
  }
  TemporaryFolder folder_;
};

TEST_F(Reports, ARunHasAPageOfItsOwn) {
  add("bank", {});
  const nlohmann::json made = data("bank");
  EXPECT_EQ(made["kind"], "run");
  EXPECT_EQ(made["runs"].size(), 1u);
  EXPECT_EQ(made["runs"][0]["name"], "bank");
  EXPECT_EQ(data("bank/")["runs"][0]["name"], "bank") << "a slash at the end changes nothing";
}

TEST_F(Reports, AFolderIsSearchedAndItsRunsAreNamedBelowIt) {
  add("a", {});
  add("deeper/b", {});
  add("a/pupil", {});
  std::filesystem::create_directories(folder_.path() / "empty");
  const nlohmann::json made = data();
  EXPECT_EQ(made["kind"], "runs");
  std::vector<std::string> names;
  for (const nlohmann::json& run : made["runs"]) names.push_back(run["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a/pupil", "deeper/b"}));
}

TEST_F(Reports, FrontsByDatasetAndMeasure) {
  add("1-dense", {.auc = 0.95, .gated = false});
  add("2-good", {.active = 0.3, .auc = 0.94});
  add("3-beaten", {.active = 0.4, .auc = 0.93});
  add("4-small", {.active = 0.1, .auc = 0.80});
  add("5-other", {.dataset = "other", .active = 0.05, .auc = 0.5});
  const nlohmann::json fronts = data()["fronts"]["test"];
  EXPECT_EQ(fronts["made (table)"]["auc"], nlohmann::json::parse("[3, 1, 0]"));
  EXPECT_EQ(fronts["other (table)"]["auc"], nlohmann::json::parse("[4]"));
}

TEST_F(Reports, ARunThatCannotBeReadIsLeftOutAndNamed) {
  add("good", {});
  add("altered", {});
  write_file_atomically(folder_.path() / "altered/config.toml", "[data]\n");
  const nlohmann::json made = data();
  EXPECT_EQ(made["runs"].size(), 1u);
  EXPECT_EQ(made["notes"][0]["text"], "altered is left out: it cannot be read.");
}

TEST_F(Reports, WithoutARunThereIsAMessage) {
  EXPECT_THROW(data(), UserError);
  EXPECT_THROW(data("nowhere"), UserError);
}

TEST_F(Reports, HostileNamesStayText) {
  const std::string hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!--";
  add("bank", {.column = hostile, .dataset = hostile, .first_class = hostile});
  const std::string html = page("bank");
  EXPECT_EQ(html.find("alert(1)</script>"), html.npos);
  EXPECT_EQ(html.find("<img"), html.npos);
  EXPECT_NE(html.find("\\u003c/script>"), html.npos) << "the names are there, as text";
}

TEST_F(Reports, NoPathOfTheMachineInThePage) {
  add("bank", {});
  EXPECT_EQ(page("bank").find("somebody"), std::string::npos);
  EXPECT_EQ(page("bank").find(folder_.path().string()), std::string::npos);
  EXPECT_EQ(page().find(folder_.path().string()), std::string::npos);
  const std::string with = make_report({folder_.path() / "bank"}, {{"data.train"}, true, "none"}).html;
  EXPECT_NE(with.find("/home/somebody/secret/bank.csv"), std::string::npos);
}

TEST_F(Reports, ThePageNamesNoOtherMachine) {
  add("bank", {});
  const std::string html = page("bank");
  const size_t policy = html.find("default-src 'none'; script-src 'sha256-");
  EXPECT_NE(policy, html.npos);
  for (size_t at = 0; (at = html.find("://", at)) != html.npos; ++at) {  // the name of SVG's language is the only one
    EXPECT_EQ(html.substr(at - 4, 25), "http://www.w3.org/2000/sv");
  }
  EXPECT_LT(html.size(), 200'000u);
}

TEST_F(Reports, OfManyRunsLessIsTold) {
  for (int i = 0; i < 8; ++i) add(fmt::format("run{}", i), {});
  ReportOptions options{{"data.train"}, false, "none"};
  const std::string all = make_report({folder_.path()}, options).html;
  EXPECT_EQ(all.find("runs are many"), all.npos);
  EXPECT_EQ(all.find("\"metrics\":null"), all.npos);
  options.most_bytes = all.size() - 1;
  const std::string fewer = make_report({folder_.path()}, options).html;
  EXPECT_LE(fewer.size(), options.most_bytes);
  EXPECT_NE(fewer.find("8 runs are many: what is side by side below goes without curves."), fewer.npos);
  EXPECT_NE(fewer.find("\"metrics\":null"), fewer.npos);
  EXPECT_EQ(fewer.find("\"gates\":null"), fewer.npos) << "no more than needed is left out";
}

TEST_F(Reports, ARunAmongManyTakesLittle) {
  add("bank", {});
  add("other", {});
  EXPECT_LT(data()["runs"][0].dump().size(), 10'000u);  // a page of 5 MB with Plotly holds three hundred of them
}

TEST(JsonForPage, NoTagAndNoBrokenText) {
  const std::string text = json_for_page({{"a", "<b>\xff"}});
  EXPECT_EQ(text, "{\"a\":\"\\u003cb>\xEF\xBF\xBD\"}");
}

}  // namespace
}  // namespace l0gm
