#include "batches/table/table_batches.h"

#include "encoders/table/toy_table.h"
#include "gate/toy_gate.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(TableTensors, HoldsTheTableUnchanged) {
  const EncodedTable rows = toy_rows();
  const TableTensors tensors(rows, torch::kCPU, torch::kFloat64);
  EXPECT_EQ(tensors.rows(), 6);
  const auto batch = tensors.range(0, 6);
  EXPECT_EQ(batch->codes.scalar_type(), torch::kInt64);
  EXPECT_EQ(batch->slopes.scalar_type(), torch::kFloat64);
  for (int64_t i = 0; i < 6; ++i) {
    for (int64_t f = 0; f < 5; ++f) {
      EXPECT_EQ(batch->codes[i][f].item<int64_t>(), rows.codes[static_cast<size_t>(i * 5 + f)]);
      EXPECT_EQ(batch->slopes[i][f].item<double>(), rows.slopes[static_cast<size_t>(i * 5 + f)]);
    }
    EXPECT_EQ(batch->example_ids[i].item<int64_t>(), rows.row_numbers[static_cast<size_t>(i)])
        << "noise is keyed by the file's row";
    EXPECT_EQ(batch->targets[i].item<int64_t>(), rows.labels[static_cast<size_t>(i)]);
  }
  EXPECT_FALSE(batch->weights.defined());
  EXPECT_TRUE(at::equal(tensors.targets(), batch->targets));
}

TEST(TableTensors, CopiesTheTable) {
  auto rows = std::make_unique<EncodedTable>(toy_rows());
  const TableTensors tensors(*rows, torch::kCPU, torch::kFloat32);
  std::fill(rows->codes.begin(), rows->codes.end(), -7);
  rows.reset();
  EXPECT_EQ(tensors.range(0, 1)->codes[0][1].item<int64_t>(), 2);
}

TEST(TableTensors, TakesOverTheMemoryOfATableThatIsMovedIn) {
  EncodedTable rows = toy_rows();
  const float* slopes = rows.slopes.data();
  const TableTensors tensors(std::move(rows), torch::kCPU, torch::kFloat32);
  const auto all = tensors.range(0, 6);
  EXPECT_EQ(all->slopes.const_data_ptr<float>(), slopes) << "no second copy";
  EXPECT_TRUE(at::equal(all->codes, TableTensors(toy_rows(), torch::kCPU, torch::kFloat32).range(0, 6)->codes));
  const TableTensors wide(toy_rows(), torch::kCPU, torch::kFloat64);
  EXPECT_TRUE(at::equal(wide.range(0, 6)->slopes, all->slopes.to(torch::kFloat64)));
}

TEST(TableBatch, TakesTheNumbersOfAnotherInItsOwnMemory) {
  const TableTensors all(toy_rows(), torch::kCPU, torch::kFloat64);
  const auto rows = [](std::vector<int64_t> which) { return at::tensor(which, torch::kInt64); };
  const auto own = all.select(rows({0, 1})), other = all.select(rows({4, 2})), longer = all.select(rows({1, 2, 3}));
  const void* memory = own->codes.data_ptr();
  EXPECT_TRUE(own->take(*other));
  EXPECT_EQ(own->codes.data_ptr(), memory);
  EXPECT_TRUE(at::equal(own->codes, other->codes));
  EXPECT_TRUE(at::equal(own->example_ids, other->example_ids));
  EXPECT_FALSE(own->take(*longer));
  EXPECT_TRUE(at::equal(own->codes, other->codes)) << "nothing was changed";
  EXPECT_TRUE(own->take(*own));
}

TEST(TableTensors, SomeRowsAreATableOfTheirOwn) {
  const TableTensors all(toy_rows(), torch::kCPU, torch::kFloat64);
  const torch::Tensor rows = at::tensor(std::vector<int64_t>{4, 1}, torch::kInt64);
  const TableTensors some = all.some(rows);
  EXPECT_EQ(some.rows(), 2);
  EXPECT_TRUE(at::equal(some.range(0, 2)->codes, all.select(rows)->codes));
  EXPECT_TRUE(at::equal(some.range(0, 2)->slopes, all.select(rows)->slopes));
  EXPECT_TRUE(at::equal(some.range(0, 2)->example_ids, all.select(rows)->example_ids));
  EXPECT_TRUE(at::equal(some.targets(), all.select(rows)->targets));
}

TEST(TableTensors, SelectAndRangeAgree) {
  const TableTensors tensors(toy_rows(), torch::kCPU, torch::kFloat32);
  const auto selected = tensors.select(at::tensor(std::vector<int64_t>{4, 2, 2, 0}, torch::kInt64));
  EXPECT_TRUE(at::equal(selected->example_ids, at::tensor(std::vector<int64_t>{21, 15, 15, 10}, torch::kInt64)));
  EXPECT_TRUE(at::equal(selected->targets, at::tensor(std::vector<int64_t>{1, 1, 1, 0}, torch::kInt64)));
  const auto range = tensors.range(2, 5), same = tensors.select(at::arange(2, 5, torch::kInt64));
  EXPECT_TRUE(at::equal(range->codes, same->codes));
  EXPECT_TRUE(at::equal(range->slopes, same->slopes));
  EXPECT_TRUE(at::equal(range->example_ids, same->example_ids));
  EXPECT_TRUE(at::equal(range->targets, same->targets));
  EXPECT_EQ(tensors.range(4, 9)->codes.size(0), 2) << "the last block of a table is shorter";
}

TEST(TableTensors, UnknownLabelsAreMinusOne) {
  EncodedTable rows = toy_rows();
  rows.labels.clear();
  EXPECT_TRUE(at::equal(TableTensors(rows, torch::kCPU, torch::kFloat32).targets(), at::full({6}, -1, torch::kInt64)));
}

TEST(TableTensors, NoRows) {
  EncodedTable rows;
  rows.code_slots = rows.slope_slots = 5;
  const TableTensors tensors(rows, torch::kCPU, torch::kFloat32);
  EXPECT_EQ(tensors.rows(), 0);
  EXPECT_EQ(tensors.range(0, 0)->codes.sizes(), (std::vector<int64_t>{0, 5}));
}

}  // namespace
}  // namespace l0gm
