#include "heads/linear.h"

#include "encoders/table/toy_table.h"
#include "heads/head_tools.h"
#include "heads/sum.h"

namespace l0gm {
namespace {

using namespace testing_tools;

constexpr int64_t width = 3;

struct Toy {
  Schema schema = rich_schema();
  EncodedTable rows = rich_rows();
  std::vector<FieldCounts> counts = count_fields(rows, schema);
  FieldEmbeddings interface{schema, counts, width};
  HeadShape shape = shape_of(9, width, 4);
  LinearHead head{schema, counts, interface, shape};
  std::shared_ptr<TableBatch> batch = TableTensors(rows, torch::kCPU, torch::kFloat32).range(0, 6);
  GateSite site;

  Toy() {
    torch::NoGradGuard no_grad;
    for (auto& item : head.named_parameters()) item.value().normal_();
    GateOptions options;
    site.name = "interface";
    site.at_interface = true;
    site.gate = HardConcrete(options, at::ones({shape.dimensions()}), shape.dimensions());
    site.gate->eval();
    site.gate->logits().fill_(9);
  }
  void close(int64_t begin, int64_t count) {
    torch::NoGradGuard no_grad;
    site.gate->logits().narrow(0, begin, count).fill_(-9);
  }
  // As a model runs: gate first, then the head.
  torch::Tensor logits() {
    GatePass pass({Phase::harden, 0.5, 1, 1}, 0, 0, ids(0, 6));
    const torch::Tensor r = pass.apply(site, interface.forward(*batch, pass));
    return head.forward(r, *batch, pass).flatten();
  }
  torch::Tensor term(int64_t field) {  // of an embedded field
    const auto terms = std::static_pointer_cast<FieldEmbeddings>(head.named_children()["terms"]);
    return terms->fields(*batch).select(1, field).flatten();
  }
  torch::Tensor statistic(int64_t s) {
    return batch->slopes.select(1, 10 + s) * head.named_parameters()["statistic_weights"][s][0];
  }
};

TEST(LinearHead, IsTheSumOfItsTerms) {
  Toy toy;
  torch::Tensor wanted = at::zeros({6});
  for (int64_t f = 0; f < 9; ++f) wanted = wanted + toy.term(f);
  for (int64_t s = 0; s < 4; ++s) wanted = wanted + toy.statistic(s);
  EXPECT_LT(largest_difference(toy.logits(), wanted), 1e-4);
}

TEST(LinearHead, AColumnIsClosedWhenAllItsUnitsAre) {
  Toy toy;
  const torch::Tensor open = toy.logits();
  toy.close(3 * width, width - 1);  // kind: one dimension is left
  EXPECT_LT(largest_difference(toy.logits(), open), 1e-5);
  toy.close(3 * width, width);
  EXPECT_LT(largest_difference(toy.logits(), open - toy.term(3)), 1e-4) << "kind has no other encoding";
  // Colour has values, bins and two statistics of its own; all count.
  const torch::Tensor before = toy.logits();
  toy.close(1 * width, width);
  toy.close(4 * width, width);
  toy.close(9 * width, 1);
  EXPECT_LT(largest_difference(toy.logits(), before), 1e-5) << "one statistic is left";
  toy.close(9 * width + 1, 1);
  EXPECT_LT(largest_difference(toy.logits(), before - toy.term(1) - toy.term(4) - toy.statistic(0) - toy.statistic(1)), 1e-4);
  // The pair's statistics are a source of their own.
  const torch::Tensor last = toy.logits();
  toy.close(9 * width + 2, 2);
  EXPECT_LT(largest_difference(toy.logits(), last - toy.statistic(2) - toy.statistic(3)), 1e-4);
}

TEST(LinearHead, SoftGatesScaleATermByTheirLargest) {
  Toy toy;
  toy.site.gate->train();
  {
    torch::NoGradGuard no_grad;
    toy.site.gate->logits().fill_(0);
  }
  GatePass pass({Phase::anneal, 1, 1, 1}, 3, 5, ids(0, 6));
  pass.apply(toy.site, toy.interface.forward(*toy.batch, pass));
  const torch::Tensor z = pass.record(toy.site)->gated.gates, gates = toy.head.field_gates(pass);
  ASSERT_EQ(gates.sizes(), (std::vector<int64_t>{6, 13}));
  for (int64_t e = 0; e < 6; ++e) {
    const auto largest = [&](std::vector<int64_t> begins, std::vector<int64_t> counts) {
      double value = 0;
      for (size_t i = 0; i < begins.size(); ++i)
        value = std::max(value, z[e].narrow(0, begins[i], counts[i]).max().item<double>());
      return value;
    };
    EXPECT_NEAR(gates[e][3].item<double>(), largest({3 * width}, {width}), 1e-6) << "kind";
    const double colour = largest({width, 4 * width, 9 * width}, {width, width, 2});
    for (const int64_t f : {1, 4, 9, 10}) EXPECT_NEAR(gates[e][f].item<double>(), colour, 1e-6) << "colour " << f;
    EXPECT_NEAR(gates[e][12].item<double>(), largest({9 * width + 2}, {2}), 1e-6) << "the pair";
  }
}

TEST(LinearHead, ParametersThatAreLeft) {
  Toy toy;
  const torch::Tensor all = at::ones({toy.shape.dimensions()}, torch::kBool);
  // Size 3, colour 5, age 5, kind 3, bins 3, exact age 4, user 4, tags 5, phase 34; four statistics.
  const int64_t total = 66 + 4;
  EXPECT_EQ(toy.head.parameters_with(all), total);
  torch::Tensor kept = all.clone();
  kept.narrow(0, 3 * width, width).fill_(false);
  EXPECT_EQ(toy.head.parameters_with(kept), total - 3) << "the rows of kind";
  kept[9 * width + 3] = false;
  EXPECT_EQ(toy.head.parameters_with(kept), total - 3) << "the pair is still open";
  kept[9 * width + 2] = false;
  EXPECT_EQ(toy.head.parameters_with(kept), total - 3 - 2);
}

TEST(TermSumHead, SumsTermsPerMemberAndOutput) {
  const HeadShape shape = shape_of(3, 6, 2, 2, 3);  // two members, three classes
  TermSumHead head(shape);
  to_double(head);
  {
    torch::NoGradGuard no_grad;
    head.named_parameters()["statistic_weights"].normal_();
  }
  const torch::Tensor x = random_interface(shape, 4), logits = logits_of(head, x);
  const torch::Tensor weights = head.named_parameters()["statistic_weights"];
  for (int64_t o = 0; o < 6; ++o) {
    torch::Tensor wanted = x.select(1, 18) * weights[0][o] + x.select(1, 19) * weights[1][o];
    for (int64_t f = 0; f < 3; ++f) wanted = wanted + x.select(1, f * 6 + o);
    EXPECT_LT(largest_difference(logits.select(1, o / 3).select(1, o % 3), wanted), 1e-12);
  }
}

TEST(SumHead, AddsBranchesToALogitThatStartsAtTheBaseRate) {
  SumHead empty({9000, 1000}, 2);
  const torch::Tensor x = at::zeros({1, 4}, torch::kFloat64);
  const torch::Tensor start = logits_of(empty, x);
  ASSERT_EQ(start.sizes(), (std::vector<int64_t>{1, 2, 1}));
  EXPECT_NEAR(start[0][1][0].item<double>(), std::log(1000.0 / 9000.0), 1e-3);
  SumHead three({700, 200, 100}, 1);
  const torch::Tensor p = log_probabilities(logits_of(three, x)).exp().flatten();
  EXPECT_NEAR(p[0].item<double>(), 0.7, 1e-2);
  EXPECT_NEAR(p[2].item<double>(), 0.1, 1e-2);
}

}  // namespace
}  // namespace l0gm
