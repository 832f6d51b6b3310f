#include "study/compare_plan.h"

#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

constexpr const char* one_data = "[[data]]\nname = \"a\"\nconfig = \"a.toml\"\n";
constexpr const char* one_line = "[[line]]\nname = \"dense\"\nset = [\"gate.unit=none\"]\n";

ComparePlan plan_of_text(const std::string& text) {
  const TemporaryFolder folder;
  return read_compare_plan(folder.write("plan.toml", text));
}

void expect_refused(const std::string& text, const std::vector<std::string>& says) {
  const std::string message = message_of<UserError>([&] { plan_of_text(text); });
  EXPECT_NE(message.find("plan.toml"), std::string::npos) << message;
  for (const std::string& words : says) EXPECT_NE(message.find(words), std::string::npos) << words << "\n" << message;
}

TEST(ComparePlan, HoldsWhatTheFileSays) {
  const TemporaryFolder folder;
  const ComparePlan plan = read_compare_plan(folder.write("plans/plan.toml", R"(
title = "A title"
seeds = 5
perturb = true
layout = "matrix"
reference = "dense"
set = ["train.epochs=2"]
[[data]]
name = "a"
config = "../data/a.toml"
[[data]]
name = "b"
set = ["data.source=messy-table", "data.split.seed={seed}"]
[[line]]
name = "student"
teacher = "dense"
[[line]]
name = "dense"
set = ["gate.unit=none"]
[[line]]
name = "trees"
peer = "hist-gradient-boosting"
only = ["a"]
choose = { "learning_rate" = [0.02, 0.1], "max_leaf_nodes" = [15, 31] }
)"));
  EXPECT_EQ(plan.title, "A title");
  EXPECT_EQ(plan.seeds, 5);
  EXPECT_TRUE(plan.perturb);
  EXPECT_EQ(plan.layout, CompareLayout::matrix);
  EXPECT_EQ(plan.measures[0], "nll");
  EXPECT_EQ(plan.data[0].config, folder.path() / "data/a.toml");
  EXPECT_TRUE(plan.data[1].config.empty());
  EXPECT_EQ(points_of(plan.lines[2].choose), 4);
  EXPECT_EQ(plan.lines[2].choose[0].values[0], std::vector<std::string>{"learning_rate=0.02"});
  EXPECT_TRUE(plan.lines[2].is_for("a"));
  EXPECT_FALSE(plan.lines[2].is_for("b"));
  EXPECT_EQ(plan.order(), (std::vector<size_t>{1, 0, 2}));
}

TEST(ComparePlan, HasDefaults) {
  const ComparePlan plan = plan_of_text(std::string(one_data) + one_line);
  EXPECT_EQ(plan.seeds, 3);
  EXPECT_EQ(plan.layout, CompareLayout::lines);
  EXPECT_FALSE(plan.perturb);
  EXPECT_GT(plan.measures.size(), 5U);
}

TEST(ComparePlan, RefusesWithFileKeyAndRemedy) {
  const std::string data = one_data, line = one_line;
  expect_refused("title = ", {"line 1"});
  expect_refused(line, {"[[data]]", "write one for each"});
  expect_refused(data, {"[[line]]"});
  expect_refused("titel = \"x\"\n" + data + line, {"'titel'", "Did you mean 'title'?"});
  expect_refused("seeds = 0\n" + data + line, {"seeds", "from 1 to 1000"});
  expect_refused("perturb = 1\n" + data + line, {"perturb", "true or false"});
  expect_refused("layout = \"wide\"\n" + data + line, {"layout is 'wide'", "lines or matrix"});
  expect_refused("reference = \"dens\"\n" + data + line, {"reference", "Did you mean 'dense'?"});
  expect_refused(data + line + line, {"[[line]] 'dense'", "name", "before"});
  expect_refused(data + "[[line]]\nset = [\"gate.k=1\"]\n", {"[[line]] 1", "name is missing"});
  expect_refused(data + "[[line]]\nname = \"x\"\nset = [\"gate.k\"]\n", {"[[line]] 'x'", "'gate.k'", "key=value"});
  expect_refused(data + "[[line]]\nname = \"x\"\nset = \"gate.k=1\"\n", {"set is a list of texts"});
  expect_refused(data + "[[line]]\nname = \"x\"\nsets = []\n", {"'sets'", "Did you mean 'set'?"});
  expect_refused(data + "[[line]]\nname = \"x\"\npeer = \"lightgmb\"\n", {"peer", "Did you mean 'lightgbm'?"});
  expect_refused(data + "[[line]]\nname = \"x\"\nchoose = { \"train.lr\" = [1] }\n", {"choose", "two values"});
  expect_refused(data + "[[line]]\nname = \"x\"\nonly = [\"b\"]\n", {"only is 'b'", "There are: a"});
  expect_refused("[[data]]\nname = \"a\"\n" + line, {"[[data]] 'a'", "config is missing"});
}

TEST(ComparePlan, RefusesTeachersThatCannotComeFirst) {
  const std::string both = std::string(one_data) + one_line;
  const auto line = [](const std::string& name, const std::string& further) {
    return "[[line]]\nname = \"" + name + "\"\n" + further;
  };
  expect_refused(both + line("x", "teacher = \"dens\"\n"), {"teacher", "Did you mean 'dense'?"});
  expect_refused(both + line("x", "teacher = \"x\"\n"), {"teacher", "in turn"});
  expect_refused(both + line("x", "teacher = \"y\"\n") + line("y", "teacher = \"x\"\n"), {"teacher", "in turn"});
  expect_refused(both + line("x", "teacher = \"y\"\n") + line("y", "peer = \"xgboost\"\n"), {"a run of ours"});
  expect_refused(both + line("x", "peer = \"xgboost\"\nteacher = \"dense\"\n"), {"lines of ours"});
  expect_refused(both + line("x", "teacher = \"y\"\n") + line("y", "choose = { \"train.lr\" = [1, 2] }\n"), {"which chooses"});
  const std::string more = "[[data]]\nname = \"b\"\nconfig = \"b.toml\"\n" + both;
  expect_refused(more + line("x", "teacher = \"y\"\n") + line("y", "only = [\"a\"]\n"), {"not for 'b'"});
}

}  // namespace
}  // namespace l0gm
