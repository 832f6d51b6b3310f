#include "model/table_model.h"
#include "encoders/table/toy_table.h"
#include "gate/toy_gate.h"
#include "heads/head_tools.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

// Every model of the list: what it is the sum of, its reductions, its parameters, gates of every kind.
namespace l0gm {
namespace {

using namespace testing_tools;

const GateState annealing{Phase::anneal, 1, 1, 1}, hardened{Phase::harden, 0.5, 1, 1};
const std::vector<std::string> all_names = {"mlp", "linear", "fm", "wide-deep", "deepfm", "cin", "xdeepfm"};

TableModelOptions options_for(const std::string& name, int64_t members = 1) {
  TableModelOptions options;
  options.model.name = name;
  options.model.width = 3;
  options.model.depth = 1;
  options.model.hidden = 8;
  options.model.members = members;
  options.cin.maps = {4, 2};
  return options;
}

GateOptions gate_of(UnitKind unit) {
  GateOptions gate;
  gate.unit = unit;
  return gate;
}

std::shared_ptr<Model> rich_model(const TableModelOptions& options, const GateOptions& gate = gate_of(UnitKind::none),
                                  int64_t classes = 2) {
  Schema schema = rich_schema();
  if (classes == 3) {
    schema.classes = {"a", "b", "c"};
    schema.class_rows = {2, 2, 2};
  }
  auto model = make_table_model(schema, count_fields(rich_rows(), schema), options, gate, 1);
  place(*model, torch::kCPU, torch::kFloat64);
  model->settle();
  model->eval();
  return model;
}

torch::Tensor run(Model& model, const GateState& state = hardened) {
  const auto batch = TableTensors(rich_rows(), torch::kCPU, torch::kFloat64).range(0, 6);
  GatePass pass(state, 3, 0, batch->example_ids);
  return model.forward(*batch, pass);
}

void zero(Model& model, const std::string& prefix) {
  torch::NoGradGuard no_grad;
  for (auto& item : model.named_parameters()) {
    if (item.key().starts_with(prefix)) item.value().zero_();
  }
}

void copy_shared(Model& from, Model& to) {
  torch::NoGradGuard no_grad;
  auto source = from.named_parameters();
  for (auto& item : to.named_parameters()) {
    if (source.contains(item.key())) item.value().copy_(source[item.key()]);
  }
}

void shake(Model& model) {  // linear terms and pair weights start at nothing: give them something to say
  torch::NoGradGuard no_grad;
  for (auto& item : model.named_parameters()) {
    if (item.key().starts_with("head.linear") || item.key().starts_with("head.pairs") || item.key() == "head.bias")
      item.value().normal_();
  }
}

// xdeepfm without deep and CIN, deepfm and fm without pairs and deep, wide-deep without deep: all are linear.
TEST(TableModel, WithoutTheOtherBranchesTheyAreLinear) {
  const auto wide = rich_model(options_for("wide-deep"));
  shake(*wide);
  zero(*wide, "head.deep");
  const torch::Tensor linear = run(*wide);
  for (const std::string name : {"fm", "deepfm", "xdeepfm"}) {
    const auto model = rich_model(options_for(name));
    shake(*model);
    copy_shared(*wide, *model);
    EXPECT_FALSE(at::allclose(run(*model), linear)) << name;
    for (const char* branch : {"head.deep", "head.pairs", "head.cin.output"}) zero(*model, branch);
    EXPECT_LT(largest_difference(run(*model), linear), 1e-12) << name;
  }
}

TEST(TableModel, TheLinearModelIsTheLinearTermOfTheOthers) {
  const auto linear = rich_model(options_for("linear")), wide = rich_model(options_for("wide-deep"));
  zero(*wide, "head.deep");
  torch::NoGradGuard no_grad;
  auto from = linear->named_parameters(), to = wide->named_parameters();
  for (auto& item : from) item.value().normal_();
  for (auto& item : from) {
    const std::string key = item.key().starts_with("encoder.") ? "head.linear.terms." + item.key().substr(8) : item.key();
    to[key].copy_(item.value());
  }
  EXPECT_LT(largest_difference(run(*linear), run(*wide)), 1e-12);
}

// A sum of branches is the sum of models that have one branch each.
TEST(TableModel, LogitsAreTheSumOfBranches) {
  const auto whole = rich_model(options_for("xdeepfm")), deep = rich_model(options_for("mlp")),
             cin = rich_model(options_for("cin")), wide = rich_model(options_for("wide-deep"));
  shake(*whole);
  for (const auto& part : {deep, cin, wide}) copy_shared(*whole, *part);
  zero(*wide, "head.deep");
  zero(*deep, "head.bias");
  zero(*cin, "head.bias");
  EXPECT_LT(largest_difference(run(*whole), run(*deep) + run(*cin) + run(*wide)), 1e-12);
}

TEST(TableModel, ShapesForMembersAndClasses) {
  for (const std::string& name : all_names) {
    for (const bool weighted : {false, true}) {
      TableModelOptions options = options_for(name, 3);
      options.fm.weighted = weighted;
      const auto two = rich_model(options), three = rich_model(options, gate_of(UnitKind::dimension), 3);
      EXPECT_EQ(run(*two).sizes(), (std::vector<int64_t>{6, 3, 1})) << name;
      EXPECT_EQ(run(*three).sizes(), (std::vector<int64_t>{6, 3, 3})) << name;
    }
  }
}

TEST(TableModel, MembersDoNotStayOne) {
  for (const std::string name : {"mlp", "fm", "wide-deep", "deepfm", "cin", "xdeepfm"}) {
    for (const EnsembleKind kind : {EnsembleKind::batch, EnsembleKind::heads}) {
      TableModelOptions options = options_for(name, 2);
      options.model.ensemble = kind;
      const torch::Tensor logits = run(*rich_model(options));
      EXPECT_FALSE(at::allclose(logits.select(1, 0), logits.select(1, 1))) << name << ", " << name_of_enum(kind);
    }
  }
}

// Branches that a batch ensemble shares are there once, whatever the number of members, and add the same to each.
TEST(TableModel, ABatchEnsembleSharesTheOtherBranches) {
  for (const std::string name : {"wide-deep", "deepfm", "xdeepfm"}) {
    const auto one = rich_model(options_for(name)), many = rich_model(options_for(name, 5));
    const auto of_branches = [](const Model& model) {
      int64_t count = 0;
      for (const auto& item : model.named_parameters()) {
        const bool of_branch =
            item.key().starts_with("head.") && !item.key().starts_with("head.deep") && item.key() != "head.bias";
        count += of_branch ? item.value().numel() : 0;
      }
      return count;
    };
    EXPECT_GT(of_branches(*one), 0) << name;
    EXPECT_EQ(of_branches(*one), of_branches(*many)) << name;
    shake(*many);
    const torch::Tensor with = run(*many);
    for (const char* branch : {"head.linear", "head.pairs", "head.cin"}) zero(*many, branch);
    const torch::Tensor branches = with - run(*many);
    EXPECT_GT(branches.abs().max().item<double>(), 1e-3) << name;
    EXPECT_LT(largest_difference(branches.select(1, 0), branches.select(1, 4)), 1e-12) << name;
  }
}

TEST(TableModel, WithoutSharedLayersMembersAreHeads) {
  for (const EnsembleKind kind : {EnsembleKind::batch, EnsembleKind::heads}) {
    TableModelOptions one = options_for("deepfm"), flat = options_for("deepfm", 3);
    one.model.ensemble = flat.model.ensemble = kind;
    flat.model.depth = 0;
    EXPECT_EQ(rich_model(one)->parameter_count(), rich_model(options_for("deepfm"))->parameter_count());
    EXPECT_EQ(run(*rich_model(flat)).sizes(), (std::vector<int64_t>{6, 3, 1}));
  }
}

TEST(TableModel, ParameterCounts) {
  // Interface of 9 fields of 3 and 4 statistics. One dimension of each field: size 3, colour 5, age 5, kind 3, bins 3, exact age
  // 4, user 4, tags 5, phase 34.
  const int64_t dimension = 3 + 5 + 5 + 3 + 3 + 4 + 4 + 5 + 34, deep = 31 * 8 + 8 + 8, linear = dimension + 4;
  const auto count = [&](const std::string& name, bool weighted = true) {
    TableModelOptions options = options_for(name);
    options.fm.weighted = weighted;
    return rich_model(options)->parameter_count();
  };
  EXPECT_EQ(count("mlp"), 3 * dimension + deep + 1);
  EXPECT_EQ(count("linear"), dimension + 4 + 1);
  EXPECT_EQ(count("fm", false), 3 * dimension + linear + 1);
  EXPECT_EQ(count("fm"), 3 * dimension + linear + 36 + 1);
  EXPECT_EQ(count("wide-deep"), 3 * dimension + linear + deep + 1);
  EXPECT_EQ(count("deepfm"), 3 * dimension + linear + 36 + deep + 1);
  const int64_t cin = 4 * 9 * 9 + 2 * 4 * 9 + 6;
  EXPECT_EQ(count("cin"), 3 * dimension + cin + 1);
  EXPECT_EQ(count("xdeepfm"), 3 * dimension + linear + cin + deep + 1);
}

TEST(TableModel, UnitsOfLinearAreColumns) {
  const auto model = rich_model(options_for("linear"), gate_of(UnitKind::dimension));
  EXPECT_EQ(model->unit(), UnitKind::group);
  EXPECT_EQ(model->sites()[0]->gate->units(), 8) << "seven columns and a pair";
}

TEST(TableModel, AColumnCostsOneUnlessItsMemoryIsAskedFor) {
  GateOptions gate = gate_of(UnitKind::group);
  const auto model = rich_model(options_for("mlp"), gate);
  EXPECT_TRUE(at::equal(model->sites()[0]->gate->cost(), at::ones({8})));
  EXPECT_EQ(model->sites()[0]->noun, "columns and pairs");
  gate.cost = UnitCost::memory;
  const auto by_memory = rich_model(options_for("mlp"), gate);
  EXPECT_EQ(by_memory->sites()[0]->gate->cost().sum().item<double>(), static_cast<double>(by_memory->encoder().width()));
}

// Whatever is closed does not reach the output, in any branch: parameters of a closed column may be anything.
TEST(TableModel, AClosedColumnIsUnusedInEveryModel) {
  for (const std::string& name : all_names) {
    for (const Attach attach : {Attach::interface, Attach::input}) {
      GateOptions gate = gate_of(UnitKind::group);
      gate.attach = attach;
      const auto model = rich_model(options_for(name), gate);
      shake(*model);
      HardConcrete logits = model->sites()[0]->gate;
      torch::NoGradGuard no_grad;
      logits->logits().fill_(9);
      logits->logits()[3] = -9;  // kind
      const torch::Tensor before = run(*model);
      const auto scramble = [&](int64_t begin, int64_t rows) {
        for (auto& item : model->named_parameters()) {
          if (item.key().ends_with("lookups.rows")) item.value().narrow(0, begin, rows).normal_();
        }
      };
      scramble(5, 3);  // the rows of kind, embeddings and linear terms
      EXPECT_TRUE(at::equal(run(*model), before)) << name << ", " << name_of_enum(attach);
      scramble(0, 5);  // those of colour
      EXPECT_FALSE(at::allclose(run(*model), before)) << name;
    }
  }
}

TEST(TableModel, GradientsByFiniteDifferencesThroughSoftGates) {
  for (const std::string& name : all_names) {
    const auto model = rich_model(options_for(name, 2), gate_of(UnitKind::dimension), 3);
    shake(*model);
    if (name == "linear") {  // its terms start at zero, where frequencies have no gradient
      torch::NoGradGuard no_grad;
      for (auto& item : model->named_parameters()) item.key() == "gate.logits" ? item.value().fill_(1.5) : item.value().normal_();
    }
    model->train();
    const auto batch = TableTensors(rich_rows(), torch::kCPU, torch::kFloat64).range(0, 6);
    const torch::Tensor weights = at::randn({6, 2, 3}, torch::kFloat64);
    const auto loss = [&] {
      GatePass pass(annealing, 3, 0, batch->example_ids);
      const torch::Tensor task = (log_probabilities(model->forward(*batch, pass)) * weights).sum();
      return task + pass.expected_cost();
    };
    for (auto& item : model->named_parameters()) {
      if (item.value().numel() <= 60) expect_gradient(name + " " + item.key(), item.value(), loss, 2e-5);
    }
  }
}

TEST(TableModel, CinNeedsMaps) {
  TableModelOptions options = options_for("cin");
  options.cin.maps.clear();
  const std::string message = message_of<UserError>([&] { rich_model(options); });
  EXPECT_NE(message.find("cin.maps"), std::string::npos) << message;
}

TEST(TableModel, OnlyALinearBranchBesideOthersReadsGates) {
  for (const std::string& name : all_names) {
    const auto model = rich_model(options_for(name), gate_of(UnitKind::dimension));
    const bool beside_others = name == "fm" || name == "wide-deep" || name == "deepfm" || name == "xdeepfm";
    EXPECT_EQ(model->interface_site()->gates_are_read, beside_others) << name;
  }
}

}  // namespace
}  // namespace l0gm
