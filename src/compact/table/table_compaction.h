#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/text_table.h"
#include "compact/compaction.h"
#include "compact/table/fold.h"
#include "training/table/table_run.h"

namespace l0gm {

// Some rows of a table, by number; names are for messages: "validation row 17".
struct TableRows {
  std::string name;
  const TextTable& table;
  std::vector<int64_t> rows;
};

// A table model, folded. Parity is proven on all validation rows and on generated ones.
class TableCompaction : public Compaction {
 public:
  TableCompaction(const std::filesystem::path& run, const CompactOptions& options);

  const Checked& checked() const override { return checked_; }
  const std::vector<std::string>& classes() const override { return folded_.schema.classes; }
  std::vector<double> trained(Precision precision) override;
  std::vector<double> folded() override;
  std::vector<double> served(const std::filesystem::path& file) override;
  Predictions served(const std::filesystem::path& file, Split split) override;
  bool unfold() override;
  bool can_round() const override { return true; }
  Calibrator calibrator() const override { return single_.calibrator; }
  nlohmann::json about() override;
  int64_t write(const std::filesystem::path& file, WeightType weights, const Calibrator& calibrator,
                const nlohmann::json& about) override;
  std::string card(const std::string& file, const nlohmann::json& about) const override;
  nlohmann::json result(const nlohmann::json& about) const override;
  std::string describe(const nlohmann::json& result) const override;

 private:
  nlohmann::json describe_gate();
  TableRun single_, exact_;  // the same run twice, in float32 and in float64
  int64_t fold_bytes_;
  FoldedModel folded_;
  TextTable generated_;
  std::vector<TableRows> parts_;
  Checked checked_;
};

// What a compact file of a table says of rows of text, [rows, classes].
std::vector<double> served_probabilities(const std::filesystem::path& file, const TableRows& rows);

}  // namespace l0gm
