#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/made/made_table.h"
#include "data/table/table_dataset.h"

// `ctr-like`: a made click log, label `click` (0, 1), about 17 % clicks. Twelve fields of identifiers, written as texts such as
// u123456, with Zipf-like shares; two counters; `tags`, one to five of 200 values, as in t17|t3|t150.
//   main effects   user, item, ad, category, site, city, placement, page; small where a field has many values
//   crosses        category x site, hour x device, placement x city. Each value has one of four classes, all equally likely and
//                  independent of everything else; the sum of the two classes modulo 4 decides. The class of one field alone
//                  is therefore exactly uninformative; hour and device are informative only together.
//   counters       views_today (falling in its logarithm), clicks_before (rising)
//   no effect      carrier and session
// A row is a pure function of (seed, row number), independent of the number of rows; effects are the same for every seed.
namespace l0gm {

enum class CtrField { user, item, ad, category, site, hour, device, city, placement, carrier, session, page };
inline constexpr size_t ctr_field_count = 12;

struct CtrRow {
  std::array<int64_t, ctr_field_count> values{};  // by CtrField: 0 … cardinality-1, common ones first
  int64_t views_today = 0, clicks_before = 0;
  std::vector<int64_t> tags;  // distinct, in order of drawing
  double probability = 0;     // the true P(click)
  bool click = false;
};
CtrRow ctr_row(uint64_t seed, int64_t number);

int64_t ctr_cardinality(CtrField field);
int64_t ctr_class(int64_t value);  // 0 … 3: the class of a value of a crossed field
std::string ctr_text(CtrField field, int64_t value);

struct CtrTable {
  TableDataset dataset;               // split 80 / 10 / 10 by row order: as with logs, the last rows are the test
  std::vector<double> probabilities;  // the true P(click) of each row
};
CtrTable make_ctr(int64_t rows, uint64_t seed);
TableDataset make_ctr_table(int64_t rows, uint64_t seed);

BayesScores ctr_bayes();  // in the limit of many rows
BayesScores ctr_bayes_by_sampling(int64_t samples, uint64_t seed);

}  // namespace l0gm
