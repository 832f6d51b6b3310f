#include "training/task.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "training/table/table_task.h"

// The loss with another model's probabilities beside the labels, against a formula written out.
namespace l0gm {
namespace {

struct Example {
  std::vector<std::vector<double>> logits;  // members x outputs
  std::vector<double> teacher;              // a probability per class
  int64_t target;
};

const std::vector<Example> two_classes = {{{{0.3}, {-1.2}}, {0.9, 0.1}, 1},
                                          {{{2.0}, {0.7}}, {0.25, 0.75}, 1},
                                          {{{-0.4}, {0.1}}, {0.0, 1.0}, 0}};
const std::vector<Example> three_classes = {{{{0.3, -1.2, 2.0}, {0.1, 0.2, 0.3}}, {0.2, 0.5, 0.3}, 1},
                                            {{{-0.7, 0.0, 0.4}, {1.5, -0.5, 0.25}}, {0.98, 0.01, 0.01}, 2},
                                            {{{1.0, 1.0, 1.0}, {-2.0, 0.6, 0.1}}, {0.0, 0.4, 0.6}, 0}};

// Two classes have one logit: of the second against the first.
std::vector<double> softened(std::vector<double> logits, double temperature) {
  if (logits.size() == 1) logits = {0.0, logits[0]};
  double total = 0;
  for (double& value : logits) {
    value = std::exp(value / temperature);
    total += value;
  }
  for (double& value : logits) value /= total;
  return logits;
}

double loss_by_hand(const Example& example, double weight, double temperature) {
  std::vector<double> wanted = example.teacher;
  double total = 0;
  for (double& p : wanted) {
    p = std::pow(std::max(p, 1e-12), 1 / temperature);  // a teacher's 0 is not taken literally
    total += p;
  }
  double labels = 0, teacher = 0;
  for (const std::vector<double>& member : example.logits) {
    labels -= std::log(softened(member, 1)[static_cast<size_t>(example.target)]);
    const std::vector<double> said = softened(member, temperature);
    for (size_t c = 0; c < said.size(); ++c) teacher -= wanted[c] / total * std::log(said[c]);
  }
  const auto members = static_cast<double>(example.logits.size());
  return ((1 - weight) * labels + weight * temperature * temperature * teacher) / members;
}

torch::Tensor logits_of(const std::vector<Example>& examples) {
  std::vector<double> values;
  for (const Example& example : examples) {
    for (const auto& member : example.logits) values.insert(values.end(), member.begin(), member.end());
  }
  const auto members = static_cast<int64_t>(examples[0].logits.size());
  return at::tensor(values, torch::kFloat64).view({static_cast<int64_t>(examples.size()), members, -1});
}

Batch batch_of(const std::vector<Example>& examples) {
  std::vector<double> teacher;
  std::vector<int64_t> targets;
  for (const Example& example : examples) {
    teacher.insert(teacher.end(), example.teacher.begin(), example.teacher.end());
    targets.push_back(example.target);
  }
  Batch batch;
  batch.targets = at::tensor(targets, torch::kInt64);
  batch.soft_targets = at::tensor(teacher, torch::kFloat64).view({static_cast<int64_t>(examples.size()), -1});
  return batch;
}

TableTask task_with(double weight, double temperature) {
  TableTask task(Schema{}, 1, 0);
  task.distill_weight = weight;
  task.distill_temperature = temperature;
  return task;
}

TEST(DistillLoss, IsTheFormula) {
  for (const auto& examples : {two_classes, three_classes}) {
    for (const double temperature : {1.0, 2.5}) {
      for (const double weight : {0.3, 1.0}) {
        const torch::Tensor loss = task_with(weight, temperature).loss(logits_of(examples), batch_of(examples));
        ASSERT_EQ(loss.dim(), 1);
        ASSERT_EQ(loss.size(0), static_cast<int64_t>(examples.size()));
        for (size_t i = 0; i < examples.size(); ++i) {
          EXPECT_NEAR(loss[static_cast<int64_t>(i)].item<double>(), loss_by_hand(examples[i], weight, temperature), 1e-12)
              << examples[0].teacher.size() << " classes, example " << i << ", weight " << weight << ", temperature "
              << temperature;
        }
      }
    }
  }
}

TEST(DistillLoss, WithoutWeightOrTeacherItIsThePlainLossBitForBit) {
  for (const auto& examples : {two_classes, three_classes}) {
    const Batch taught = batch_of(examples);
    Batch untaught = taught;
    untaught.soft_targets = torch::Tensor();
    const torch::Tensor logits = logits_of(examples), plain = TableTask(Schema{}, 1, 0).loss(logits, untaught);
    EXPECT_TRUE(at::equal(task_with(0, 2.5).loss(logits, taught), plain));
    EXPECT_TRUE(at::equal(task_with(0.3, 2.5).loss(logits, untaught), plain));
    EXPECT_FALSE(at::equal(task_with(0.3, 1).loss(logits, taught), plain)) << "else this test could not tell";
  }
}

// Whatever the temperature, a student that says what its teacher says is where it should be.
TEST(DistillLoss, ItsLeastIsWhereTheTeacherIs) {
  for (const auto& examples : {two_classes, three_classes}) {
    torch::Tensor logits = logits_of(examples).select(1, 0).unsqueeze(1).clone().requires_grad_(true);
    Batch batch = batch_of(examples);
    batch.soft_targets = mean_probabilities(logits.detach());
    for (const double temperature : {1.0, 2.5}) {
      for (const double weight : {1.0, 0.5}) {
        logits.mutable_grad() = torch::Tensor();
        task_with(weight, temperature).loss(logits, batch).sum().backward();
        const double slope = logits.grad().abs().max().item<double>();
        if (weight == 1.0) {
          EXPECT_LT(slope, 1e-12) << temperature;
        } else {
          EXPECT_GT(slope, 0.01) << "the labels pull";
        }
      }
    }
  }
}

TEST(DistillLoss, SmoothingIsOfTheLabels) {
  const torch::Tensor logits = logits_of(three_classes);
  const Batch batch = batch_of(three_classes);
  const auto loss = [&](double weight, double smoothing) {
    TableTask task = task_with(weight, 2.5);
    task.label_smoothing = smoothing;
    return task.loss(logits, batch);
  };
  EXPECT_TRUE(at::allclose(loss(1, 0.4), loss(1, 0), 0, 1e-12));
  EXPECT_FALSE(at::allclose(loss(0.5, 0.4), loss(0.5, 0), 0, 1e-3));
}

}  // namespace
}  // namespace l0gm
