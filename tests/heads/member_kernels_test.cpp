#include "heads/member_kernels.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace l0gm {
namespace {

template <class T>
std::vector<T> random_numbers(int64_t count, RandomStream& random) {
  std::vector<T> numbers(static_cast<size_t>(count));
  for (T& number : numbers) number = static_cast<T>(random.normal());
  return numbers;
}

template <class T>
struct Everything {
  std::vector<T> out, to_z, to_scale, to_bias, to_next, to_x, to_factors, to_weight, to_row_factors;
};

constexpr int64_t rows = 7, members = 3, width = 21, count = members * width;

template <class T>
Everything<T> run(const MemberKernels<T>& kernels) {
  RandomStream random(3);
  const auto scale = random_numbers<T>(count, random), bias = random_numbers<T>(count, random),
             next = random_numbers<T>(count, random), z = random_numbers<T>(rows * count, random),
             gradient = random_numbers<T>(rows * count, random), x = random_numbers<T>(rows * width, random);
  std::vector<float> uniform(static_cast<size_t>(rows * count));
  for (float& u : uniform) u = static_cast<float>(random.uniform());
  Everything<T> all;
  MemberActivation<T> activation{count, scale.data(), bias.data(), next.data(), 0.3F, static_cast<T>(1 / 0.7)};
  all.out.resize(z.size());
  for (int64_t r = 0; r < rows; ++r)
    kernels.activate(activation, z.data() + r * count, uniform.data() + r * count, all.out.data() + r * count);
  all.to_z.resize(z.size());
  all.to_scale.assign(count, 0), all.to_bias.assign(count, 0), all.to_next.assign(count, 0);
  const MemberActivationBack<T> back{activation,
                                     rows,
                                     z.data(),
                                     all.out.data(),
                                     gradient.data(),
                                     all.to_z.data(),
                                     all.to_scale.data(),
                                     all.to_bias.data(),
                                     all.to_next.data()};
  kernels.activate_back(back, 0, 10);  // any division of the columns
  kernels.activate_back(back, 10, count);
  all.to_x.resize(x.size());
  all.to_factors.assign(count, 0);
  const MemberInputsBack<T> inputs{rows,         members,         width,           x.data(),
                                   scale.data(), gradient.data(), all.to_x.data(), all.to_factors.data()};
  kernels.inputs_back(inputs, 0, 5);
  kernels.inputs_back(inputs, 5, width);
  // rows * count numbers as a gradient of [rows, members, width]; factors [members, rows].
  all.to_weight.resize(x.size());
  all.to_row_factors.resize(static_cast<size_t>(members * rows));
  const MemberWeightsBack<T> weights{
      rows, members, width, x.data(), scale.data(), gradient.data(), all.to_weight.data(), all.to_row_factors.data()};
  kernels.weights_back(weights, 0, 2);
  kernels.weights_back(weights, 2, rows);
  return all;
}

template <class T>
void expect_near(const std::vector<T>& found, const std::vector<T>& wanted, double tolerance, const char* what) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], wanted[i], tolerance) << what << " " << i;
}

template <class T>
void every_set_agrees(double tolerance) {
  const auto kernels = usable_member_kernels<T>();
  ASSERT_FALSE(kernels.empty());
  EXPECT_STREQ(kernels.back().name, "plain");
  const Everything<T> wanted = run(kernels.back());
  int64_t closed = 0;
  for (const T value : wanted.out) closed += value == 0 ? 1 : 0;
  EXPECT_GT(closed, rows * count / 2) << "half by the rectifier, some more by dropout";
  EXPECT_LT(closed, rows * count * 4 / 5);
  for (const MemberKernels<T>& set : kernels) {
    const Everything<T> found = run(set);
    expect_near(found.out, wanted.out, tolerance, set.name);
    expect_near(found.to_z, wanted.to_z, tolerance, set.name);
    expect_near(found.to_scale, wanted.to_scale, tolerance, set.name);
    expect_near(found.to_bias, wanted.to_bias, tolerance, set.name);
    expect_near(found.to_next, wanted.to_next, tolerance, set.name);
    expect_near(found.to_x, wanted.to_x, tolerance, set.name);
    expect_near(found.to_factors, wanted.to_factors, tolerance, set.name);
    expect_near(found.to_weight, wanted.to_weight, tolerance, set.name);
    expect_near(found.to_row_factors, wanted.to_row_factors, tolerance, set.name);
  }
}

TEST(MemberKernels, EveryInstructionSetComputesTheSame) {
  every_set_agrees<float>(1e-4);
  every_set_agrees<double>(1e-12);
}

}  // namespace
}  // namespace l0gm
