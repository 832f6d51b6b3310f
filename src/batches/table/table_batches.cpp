#include "batches/table/table_batches.h"

#include <ATen/Functions.h>

#include <array>
#include <memory>
#include <utility>

namespace l0gm {

namespace {

// The values as a tensor in their own memory, which lives as long as the tensor.
template <class T>
torch::Tensor tensor_of(std::vector<T> values, at::IntArrayRef shape) {
  const auto options = at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value);
  if (values.empty()) return at::empty(shape, options);
  const auto owner = std::make_shared<std::vector<T>>(std::move(values));
  return at::from_blob(owner->data(), shape, [owner](void*) {}, options);
}

}  // namespace

bool TableBatch::take(const Batch& other) {
  const auto* given = dynamic_cast<const TableBatch*>(&other);
  if (given == nullptr || given == this) return given == this;
  const auto all = [](const TableBatch& batch) {
    return std::array{batch.codes, batch.slopes, batch.example_ids, batch.targets, batch.weights, batch.soft_targets};
  };
  const auto own = all(*this), theirs = all(*given);
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].defined() != theirs[i].defined() || (own[i].defined() && own[i].sizes() != theirs[i].sizes())) return false;
  }
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i].defined()) own[i].copy_(theirs[i]);
  }
  return true;
}

TableTensors::TableTensors(EncodedTable table, torch::Device device, torch::Dtype dtype) {
  const int64_t rows = table.rows();
  // Each array goes as soon as it is converted or on the device.
  codes_ = tensor_of(std::move(table.codes), {rows, table.code_slots}).to(device);
  slopes_ = tensor_of(std::move(table.slopes), {rows, table.slope_slots}).to(device, dtype);
  ids_ = tensor_of(std::move(table.row_numbers), {rows}).to(device);
  targets_ =
      table.labels.empty() ? at::full({rows}, -1, torch::kInt64) : tensor_of(std::move(table.labels), {rows}).to(torch::kInt64);
  targets_ = targets_.to(device);
  if (!table.weights.empty()) weights_ = tensor_of(std::move(table.weights), {rows}).to(device, dtype);
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
  if (weights_.defined()) batch->weights = weights_.index_select(0, rows) / static_cast<double>(rows.size(0));
  return batch;
}

TableTensors TableTensors::some(const torch::Tensor& rows) const {
  TableTensors result = *this;
  for (torch::Tensor* tensor :
       {&result.codes_, &result.slopes_, &result.ids_, &result.targets_, &result.soft_targets_, &result.weights_})
    if (tensor->defined()) *tensor = tensor->index_select(0, rows);
  return result;
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
