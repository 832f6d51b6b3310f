#include "batches/table/table_batches.h"

#include <ATen/Functions.h>

namespace l0gm {

namespace {

template <class T>
torch::Tensor copied(const std::vector<T>& values, at::IntArrayRef shape, torch::Dtype dtype) {
  return at::from_blob(const_cast<T*>(values.data()), shape, dtype).clone();
}

}  // namespace

TableTensors::TableTensors(const EncodedTable& table, torch::Device device, torch::Dtype dtype) {
  const auto rows = static_cast<int64_t>(table.row_numbers.size());
  codes_ = copied(table.codes, {rows, table.code_slots}, torch::kInt32).to(device);
  slopes_ = copied(table.slopes, {rows, table.slope_slots}, torch::kFloat32).to(device, dtype);
  ids_ = copied(table.row_numbers, {rows}, torch::kInt64).to(device);
  targets_ =
      table.labels.empty() ? at::full({rows}, -1, torch::kInt64) : copied(table.labels, {rows}, torch::kInt32).to(torch::kInt64);
  targets_ = targets_.to(device);
}

void TableTensors::set_soft_targets(const torch::Tensor& probabilities) {
  soft_targets_ = probabilities.to(slopes_.device(), slopes_.scalar_type());
}

std::shared_ptr<TableBatch> TableTensors::select(const torch::Tensor& rows) const {
  auto batch = std::make_shared<TableBatch>();
  batch->codes = codes_.index_select(0, rows).to(torch::kInt64);
  batch->slopes = slopes_.index_select(0, rows);
  batch->example_ids = ids_.index_select(0, rows);
  batch->targets = targets_.index_select(0, rows);
  if (soft_targets_.defined()) batch->soft_targets = soft_targets_.index_select(0, rows);
  return batch;
}

std::shared_ptr<TableBatch> TableTensors::range(int64_t begin, int64_t end) const {
  auto batch = std::make_shared<TableBatch>();
  batch->codes = codes_.slice(0, begin, end).to(torch::kInt64);
  batch->slopes = slopes_.slice(0, begin, end);
  batch->example_ids = ids_.slice(0, begin, end);
  batch->targets = targets_.slice(0, begin, end);
  if (soft_targets_.defined()) batch->soft_targets = soft_targets_.slice(0, begin, end);
  return batch;
}

}  // namespace l0gm
