#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/table/table_dataset.h"
#include "l0gm/options.h"

// `planted-table`: a made table with known informative fields. Numeric fields are standard normal, categories equally likely.
//   global     logit = linear + U-shaped + two categories + product of two fields, all independent and symmetric about 0.
//              Therefore P(yes) = 1/2 and P(yes | a field of the product) = 1/2 exactly: no univariate filter can find the pair.
//   instance   f00 selects which of two sets of three numeric fields determines the logit of a row.
// Decoys are correlated .5 with an informative field and carry no further information.
namespace l0gm {

enum class PlantedVariant { global, instance };
template <>
inline constexpr auto enum_names<PlantedVariant> = std::to_array<std::string_view>({"global", "instance"});

// Which fields have which role; a role that a variant lacks is empty. The same for every seed.
struct PlantedRoles {
  std::vector<std::string> linear, u_shaped, categories, product;  // global
  std::string selector;                                            // instance: f00
  std::array<std::vector<std::string>, 2> sets;                    // instance: what matters where f00 is "a", and where it is "b"
  std::vector<std::string> decoys, noise;
  std::vector<std::string> informative() const;  // in order of field number
};
PlantedRoles planted_roles(PlantedVariant variant);

struct PlantedTable {
  TableDataset dataset;  // fields f00 … f29 and `label` (no, yes); split 60 / 20 / 20
  PlantedRoles roles;
  std::vector<double> probabilities;  // the true P(yes) of each row
};
PlantedTable make_planted(int64_t rows, uint64_t seed, PlantedVariant variant);
TableDataset make_planted_table(int64_t rows, uint64_t seed, PlantedVariant variant);

// What the best possible model scores, in the limit of many rows.
double planted_bayes_auc(PlantedVariant variant);

// The same by Monte Carlo over `samples` rows for a model without the fields named in `hidden`: they are integrated
// out given all other fields, decoys included. Takes seconds where two fields are hidden.
double planted_bayes_auc_without(PlantedVariant variant, const std::vector<std::string>& hidden, int64_t samples, uint64_t seed);

}  // namespace l0gm
