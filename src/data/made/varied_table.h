#pragma once

#include <cstdint>
#include <vector>

#include "data/made/made_table.h"
#include "data/made/varied_draw.h"
#include "data/table/table_dataset.h"

// `varied-table`: each seed draws another table, so that settings can be judged over many. Drawn are: 500 to 200,000 rows; 4 to
// 200 columns, among them skewed ones, counts, categories, an identifier; 2 to 12 classes, imbalanced up to 1 : 500; missing
// cells at random and not, some of which tell something; labels that are wrong; and the effects: smooth, stepwise, periodic, of
// single values, spatial (bumps over two columns), interactions of two and of three columns (products of signs, which no column
// tells alone). A row is a pure function of (seed, row number). Label `label` (class0 …); split 60 / 20 / 20.
namespace l0gm {

struct VariedTable {
  VariedDraw draw;
  TableDataset dataset;
  std::vector<double> probabilities;  // rows x classes: the true ones, label noise included
};

// `rows`: 0: drawn from the seed as well.
VariedTable make_varied(uint64_t seed, int64_t rows = 0);
TableDataset make_varied_table(uint64_t seed, int64_t rows = 0);

}  // namespace l0gm
