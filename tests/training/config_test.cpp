#include "training/config.h"

#include <gtest/gtest.h>

#include "l0gm/error.h"
#include "support/temporary_folder.h"
#include "training/modalities.h"

namespace l0gm {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class Configs : public testing::Test {
 protected:
  Config read(const std::string& text, const std::vector<std::string>& assignments = {}) {
    return read_config(folder_.write("c.toml", "data.source = 'planted-table'\n" + text), assignments);
  }
  std::string refusal(const std::string& text, const std::vector<std::string>& assignments = {}) {
    return message_of<UserError>([&] { read(text, assignments); });
  }
  TemporaryFolder folder_;
};

TEST_F(Configs, Defaults) {
  const Config config = read("");
  EXPECT_EQ(config.gate.unit, UnitKind::dimension);
  EXPECT_EQ(config.gate.logits, LogitKind::global);
  EXPECT_EQ(config.gate.noise, Noise::example);
  EXPECT_EQ(config.gate.test_rule, TestRule::threshold);
  EXPECT_EQ(config.gate.gamma, -0.1);
  EXPECT_EQ(config.gate.zeta, 1.1);
  EXPECT_EQ(config.gate.pi, 0.5);
  EXPECT_EQ(config.gate.control, ControlKind::lambda);
  EXPECT_EQ(config.gate.lambda, GateOptions::default_lambda);
  EXPECT_EQ(config.schedule.kind, ScheduleKind::anneal);
  EXPECT_EQ(config.schedule.warmup, 0.10);
  EXPECT_EQ(config.schedule.anneal_until, 0.60);
  EXPECT_EQ(config.schedule.tau_start, 2.0);
  EXPECT_EQ(config.schedule.tau_end, 0.5);
  EXPECT_EQ(config.coupling.kind, CouplingKind::none);
  EXPECT_EQ(config.train.calibrator, CalibratorKind::temperature);
  EXPECT_EQ(config.train.patience, 0);
  EXPECT_EQ(config.data.split.valid, 0.1);
  EXPECT_EQ(config.data.split.test, 0.2);
}

TEST_F(Configs, NamingAKnobSetsTheControl) {
  EXPECT_EQ(read("gate.lambda = 0.01").gate.control, ControlKind::lambda);
  EXPECT_EQ(read("gate.target_active = 0.25").gate.control, ControlKind::target);
  EXPECT_FALSE(read("gate.target_active = 0.25").gate.lambda.has_value());
  EXPECT_EQ(read("gate.k = 3").gate.control, ControlKind::top_k);
  EXPECT_EQ(read("gate.k = 3\ngate.control = 'top-k'").gate.control, ControlKind::top_k);
}

TEST_F(Configs, Contradictions) {
  EXPECT_TRUE(contains(refusal("gate.k = 3\ngate.lambda = 0.1"), "exclude each other"));
  EXPECT_TRUE(contains(refusal("gate.k = 3\ngate.target_active = 0.1"), "exclude each other"));
  EXPECT_TRUE(contains(refusal("", {"gate.k=3", "gate.target_active=0.5"}), "exclude each other"));
  EXPECT_TRUE(contains(refusal("gate.k = 3\ngate.control = 'target'"), "gate.control = target does not go with gate.k"));
  EXPECT_TRUE(contains(refusal("gate.control = 'target'"), "needs gate.target_active"));
  EXPECT_TRUE(contains(refusal("gate.control = 'top-k'"), "needs gate.k"));
  EXPECT_TRUE(contains(refusal("gate.logits = 'static'"), "gate.logits = static"));
  EXPECT_TRUE(contains(refusal("gate.logits = 'static'\ngate.lambda = 0.1"), "set gate.target_active"));
  EXPECT_TRUE(contains(refusal("[schedule]\nwarmup = 0.7"), "schedule.warmup = 0.7 must end before schedule.anneal_until = 0.6"));
  EXPECT_NO_THROW(read("gate.unit = 'none'\n[schedule]\nwarmup = 0.7"));  // no gate, no phases
  EXPECT_NO_THROW(read("gate.logits = 'static'\ngate.k = 4"));
}

TEST_F(Configs, AssignmentsComeAfterTheFileAndInOrder) {
  EXPECT_EQ(read("train.epochs = 3", {"train.epochs=4", "train.epochs=5"}).train.epochs, 5);
  EXPECT_EQ(read("", {"gate.unit=group"}).gate.unit, UnitKind::group);
  EXPECT_EQ(read("", {"train.lr = .5"}).train.lr, 0.5);
  EXPECT_EQ(read("", {"data.label=a b"}).data.label, "a b");
}

TEST_F(Configs, TheCommandLineOverrulesTheFilesControl) {
  const Config config = read("gate.k = 3", {"gate.target_active = 0.5"});
  EXPECT_EQ(config.gate.control, ControlKind::target);
  EXPECT_EQ(config.gate.target_active, 0.5);
  EXPECT_FALSE(config.gate.k.has_value());
}

TEST_F(Configs, AGraphsHeadLearnsFasterUnlessNamed) {
  const auto head = [&](const std::vector<std::string>& more) {
    return *read_config(folder_.write("graph.toml", "[data]\nsource = 'planted-graph'\n"), more).train.head_lr;
  };
  EXPECT_DOUBLE_EQ(head({}), 0.01);
  EXPECT_DOUBLE_EQ(head({"train.lr=0.01"}), 0.03);
  EXPECT_DOUBLE_EQ(head({"train.lr=0.1"}), 0.1) << "never slower than the encoder";
  EXPECT_DOUBLE_EQ(head({"train.head_lr=0.002"}), 0.002);
  EXPECT_FALSE(read("").train.head_lr.has_value()) << "tables as before";
}

TEST_F(Configs, AListOfOneNeedsNoBrackets) {
  EXPECT_EQ(read("", {"graph.fanout=10"}).graph.fanout, (std::vector<int64_t>{10}));
  EXPECT_EQ(read("", {"graph.fanout=[10, 5]"}).graph.fanout, (std::vector<int64_t>{10, 5}));
}

TEST_F(Configs, WhatNothingReadsIsTold) {
  const auto told = [&](const std::string& source, const std::vector<std::string>& more) {
    std::string text;
    const Config config = read_config(folder_.write("u.toml", "[data]\nsource = '" + source + "'\n"), more);
    for (const std::string& sentence : unread_options(modality_of(modalities(), config.data), config)) text += sentence + "; ";
    return text;
  };
  EXPECT_EQ(told("planted-graph", {}), "");
  EXPECT_EQ(told("planted-table", {}), "");
  EXPECT_EQ(told("planted-graph", {"model.name=sage", "graph.aggregate=max"}), "");
  EXPECT_EQ(told("planted-graph", {"graph.aggregate=max"}),
            "graph.aggregate has no effect here: it is read for model.name = sage only; ");
  EXPECT_EQ(told("planted-graph", {"table.bins=7"}), "table.bins has no effect here: it is read for a table only; ");
  EXPECT_EQ(told("planted-table", {"graph.norm=batch"}), "graph.norm has no effect here: it is read for a graph only; ");
  EXPECT_EQ(told("planted-graph", {"model.name=mlp", "graph.drop_edge=0.5"}),
            "graph.drop_edge has no effect here: it is read for model.name = gcn | sage | gat only; ");
  EXPECT_EQ(told("planted-graph", {"link.negatives=2"}),
            "link.negatives has no effect here: it is read for graph.task = links only; ");
  EXPECT_EQ(told("planted-graph", {"link.negatives=2", "graph.task=links"}), "");
}

TEST_F(Configs, WhatCanOnlyBeAMistakeIsRefused) {
  for (const char* option : {"distill.weight=0.25", "distill.temperature=2"}) {
    const std::string key = std::string(option).substr(0, std::string(option).find('='));
    const std::string message = refusal("", {option});
    EXPECT_TRUE(contains(message, key + " has no effect")) << message;
    EXPECT_TRUE(contains(message, "distill.from")) << message;
    EXPECT_NO_THROW(read("", {option, "distill.from=runs/teacher"}));
    EXPECT_NO_THROW(read("", {option, "distill.dense=on"}));
  }
  EXPECT_NO_THROW(read("", {"distill.weight=0.5"})) << "the default";
}

TEST_F(Configs, AModelIsOneOfItsModalitys) {
  const std::string table = refusal("", {"model.name=gcn"});
  EXPECT_TRUE(contains(table, "model.name is 'gcn', and data.source is a table: take one of ")) << table;
  for (const char* name : {"mlp", "linear", "fm", "wide-deep", "deepfm", "cin", "xdeepfm"}) {
    EXPECT_TRUE(contains(table, name)) << table;
    EXPECT_EQ(read("", {std::string("model.name=") + name}).model.name, name);
  }
  const std::string near = refusal("", {"model.name=depfm"});
  EXPECT_TRUE(contains(near, "Did you mean 'deepfm'?")) << near;
  const auto graph = folder_.write("graph.toml", "[data]\nsource = 'planted-graph'\n");
  EXPECT_TRUE(contains(message_of<UserError>([&] { read_config(graph, {"model.name=fm"}); }), "data.source is a graph"));
}

TEST_F(Configs, MistakesAreNamed) {
  EXPECT_TRUE(contains(refusal("[train]\nepoch = 3"), "Did you mean 'train.epochs'?")) << refusal("[train]\nepoch = 3");
  EXPECT_TRUE(contains(refusal("[train]\nepoch = 3"), "c.toml line 3"));
  EXPECT_TRUE(contains(refusal("", {"gate.unti=group"}), "gate.unit"));
  EXPECT_TRUE(contains(refusal("", {"gate.unit=grup"}), "none; found \"grup\". Did you mean 'group'?"))
      << refusal("", {"gate.unit=grup"});
  EXPECT_TRUE(contains(refusal("", {"last_norm=layer"}), "unknown option 'last_norm'. Did you mean graph.last_norm?"))
      << refusal("", {"last_norm=layer"});
  EXPECT_TRUE(contains(refusal("", {"graph.fanout=ten"}), "graph.fanout is a list of whole numbers"));
  EXPECT_TRUE(contains(refusal("", {"train.lr=0"}), "above 0"));
  EXPECT_TRUE(contains(refusal("", {"train.epochs=1.5"}), "whole number"));
  EXPECT_TRUE(contains(refusal("", {"train.lr=nan"}), "finite"));
  EXPECT_TRUE(contains(refusal("", {"train.lr"}), "key=value"));
  EXPECT_TRUE(contains(refusal("= ="), "c.toml line 2"));
  EXPECT_TRUE(contains(refusal("[columns.x]\ntpye = 'numeric'"), "type"));
  EXPECT_TRUE(contains(message_of<UserError>([&] { read_config(folder_.write("e.toml", ""), {}); }), "data.source is missing"));
  EXPECT_TRUE(contains(message_of<UserError>([&] { read_config(folder_.path() / "none.toml", {}); }), "none.toml"));
}

TEST_F(Configs, TheResolvedConfigIsCompleteAndReadsBack) {
  const Config config = read(R"(
data.types = { "a b" = "numeric", "dots.in.it" = "ignore", "q\"uote" = "categorical" }
gate.target_active = 0.1
train.lr = 0.1234567890123456789
[columns."dots.in.it"]
min_count = 3
[columns."é\n"]
missing = ["?", "-"]
[columns.plain]
bins = 5
)");
  const std::string text = to_toml(config);
  const Config again = read_config(folder_.write("resolved.toml", text), {});
  EXPECT_EQ(to_toml(again), text);
  EXPECT_EQ(again.train.lr, config.train.lr);
  EXPECT_EQ(again.data.types, config.data.types);
  EXPECT_EQ(again.columns.at("dots.in.it").min_count, 3);
  EXPECT_EQ(again.columns.at("é\n").missing, (std::vector<std::string>{"?", "-"}));
  EXPECT_EQ(again.gate.control, ControlKind::target);
  for (const char* line :
       {"[schedule]", "anneal_until = 0.6", "control = \"target\"", "gamma = -0.1", "epochs = 20", "[data.split]"}) {
    EXPECT_TRUE(contains(text, line)) << line;
  }
  EXPECT_FALSE(contains(text, "lambda ="));
}

TEST_F(Configs, ARunWithoutAnOptionIsAsItWasBeforeThereWasOne) {
  const auto path = folder_.write("run.toml", "data.source = 'planted-text'\n");
  EXPECT_EQ(read_config(path, {}).train.select, Selection::calibrated);
  EXPECT_EQ(read_run_config(modality_named(modalities(), "text"), path).train.select, Selection::loss);
}

TEST_F(Configs, EveryControlReadsBack) {
  for (const char* line :
       {"", "gate.lambda = 0.5", "gate.k = 7", "gate.target_active = 1.0", "gate.unit = 'none'",
        "gate.unit = 'none'\ngate.target_active = 0.5", "gate.logits = 'static'\ngate.k = 2", "schedule.kind = 'none'"}) {
    const std::string text = to_toml(read(line));
    EXPECT_EQ(to_toml(read_config(folder_.write("r.toml", text), {})), text) << line;
  }
}

}  // namespace
}  // namespace l0gm
