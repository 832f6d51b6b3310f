#pragma once

#include "batches/batch.h"
#include "data/table/encoded.h"

namespace l0gm {

struct TableBatch : Batch {
  torch::Tensor codes;   // int64 [examples, code slots]
  torch::Tensor slopes;  // [examples, slope slots]
  bool take(const Batch& other) override;
};

// An encoded table as tensors on a device, from which batches are made. On the CPU they take over the table's memory:
//   const TableTensors rows(std::move(table), torch::kCPU, torch::kFloat32);
class TableTensors {
 public:
  TableTensors(EncodedTable table, torch::Device device, torch::Dtype dtype);
  int64_t rows() const { return codes_.size(0); }
  const torch::Tensor& targets() const { return targets_; }
  void set_soft_targets(const torch::Tensor& probabilities);            // [rows, classes]
  std::shared_ptr<TableBatch> select(const torch::Tensor& rows) const;  // by position
  TableTensors some(const torch::Tensor& rows) const;                   // those alone
  std::shared_ptr<TableBatch> range(int64_t begin, int64_t end) const;

 private:
  torch::Tensor codes_, slopes_, targets_, ids_, soft_targets_, weights_;
};

}  // namespace l0gm
