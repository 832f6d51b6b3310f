#include "study/paper_plan.h"

#include <gtest/gtest.h>

#include <set>

#include "baselines/peers.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

TEST(PaperPlan, PlansAreComplete) {
  std::set<std::string> names;
  for (const PaperPlan& plan : paper_plans()) {
    EXPECT_TRUE(names.insert(plan.name).second);
    EXPECT_GE(plan.lambdas.size(), 4U);
    EXPECT_TRUE(std::is_sorted(plan.lambdas.begin(), plan.lambdas.end()));
    for (const auto& [name, peer] : plan.peers) EXPECT_NO_THROW(peer_named(peer)) << name;
    EXPECT_EQ(plan.timing.command.at(0), "bench");
    EXPECT_FALSE(plan.timing.shown.empty());
  }
  EXPECT_TRUE(names.contains("adult"));
  EXPECT_THROW(paper_plan("adut"), UserError);
}

TEST(PaperPlan, AreFoundByTheirKindOfData) {
  EXPECT_EQ(paper_modalities(), (std::vector<std::string>{"table", "graph", "text"}));
  EXPECT_EQ(names_of_plans("table"), (std::vector<std::string>{"adult", "clicks"}));
  EXPECT_EQ(names_of_plans("text"), std::vector<std::string>{"imdb"});
  EXPECT_EQ(names_of_plans().size(), paper_plans().size());
}

TEST(PaperPlan, FiguresAreThePapers) {
  const auto ours = paper_figure("q1", "Tab", "Ours", "metric");
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->value, 0.8906);
  EXPECT_FALSE(ours->placeholder);
  const auto text = paper_figure("q2", "Text", "BERT", "latency");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->value, 7.27);
  EXPECT_TRUE(text->placeholder);
  EXPECT_EQ(paper_figure("ablation", "Graph", "fine", "ece")->value, 0.1124);
  EXPECT_EQ(paper_figure("f1", "Text", "lambda 0.0003", "active")->value, 0.30);
  EXPECT_FALSE(paper_figure("q1", "Tab", "Wide&Deep", "metric"));
  EXPECT_FALSE(paper_figure("q1", "", "MLP", "metric"));
  EXPECT_FALSE(paper_remarks().empty());
}

}  // namespace
}  // namespace l0gm
