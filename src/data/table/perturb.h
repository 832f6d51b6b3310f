#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "data/perturbation.h"
#include "data/table/table_dataset.h"
#include "encode/table/schema.h"

// Perturbed copies of test rows. They do not depend on the model, so that all methods are compared on the same files.
namespace l0gm {

// Perturbs the columns of the schema and no others: not the label, nor columns that are left out. What is drawn for a cell
// depends on (seed, condition, row number, column name) and on nothing else.
class Perturber {
 public:
  // `names`: column names of the table whose rows are perturbed.
  Perturber(const Schema& schema, const std::vector<std::string>& names, Perturbation perturbation, uint64_t seed);
  void apply(int64_t row, std::vector<std::string>& cells) const;

 private:
  struct Place {
    size_t cell;  // position of the column in the table
    Column column;
    MissingMarks marks;
    uint64_t key;
  };
  void empty_some(int64_t row, std::vector<std::string>& cells) const;
  void empty_block(int64_t row, std::vector<std::string>& cells) const;
  void change_number(int64_t row, const Place& place, std::string& cell) const;
  uint64_t key(int64_t row, uint64_t of_column) const;
  std::vector<Place> places_;
  Perturbation perturbation_;
  uint64_t seed_, condition_key_;
};

// Some rows of a table as CSV: first column `row`, the row's number, then the table's columns; perturbed when a perturber is
// given. Creates the folder when needed, streams, writes the file atomically, and returns its SHA-256. A table that has a
// column `row` of its own is a UserError.
std::string write_numbered_rows(const TextTable& table, const std::vector<int64_t>& rows, const std::filesystem::path& path,
                                const Perturber* perturber = nullptr);

// All conditions of test rows, for peers: FOLDER/perturbed/test-<condition>.csv, and FOLDER/perturbed.json:
// {"seed": …, "conditions": {"missing-0.1": {"file": "perturbed/test-missing-0.1.csv", "sha256": …}, …}}, which is returned.
nlohmann::json export_perturbed(const TableDataset& dataset, const Schema& schema, uint64_t seed,
                                const std::filesystem::path& folder);

}  // namespace l0gm
