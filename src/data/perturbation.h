#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace l0gm {

enum class Damage { missing, noise, quantise, occlude };

struct Perturbation {
  Damage damage = Damage::missing;
  double amount = 0;  // by kind: share of cells; share of the column's standard deviation; bits; share of the columns
  std::string name;   // "missing-0.1"
};

// The twelve conditions, mildest first within each kind:
//   missing    0.1 0.3 0.5    each cell is emptied with this probability
//   noise      0.05 0.1 0.2   numeric columns: plus normal noise of this share of the column's standard deviation in training
//   quantise   8 6 4          numeric columns: the nearest of 2^bits evenly spaced levels over the training range
//   occlude    0.1 0.2 0.3    a contiguous block of this share of the columns is emptied; each row has its own block
// Noise and quantisation do not change cells that are missing or not a finite number; columns that hold whole numbers in training
// stay whole and inside the training range.
const std::vector<Perturbation>& perturbations();

// Shared by tables and graphs.
uint64_t perturbation_key(std::string_view text);                          // hash of a name, the same on every machine
double nearest_level(double low, double high, double value, double bits);  // of 2^bits levels from low to high
struct OccludedBlock {
  size_t begin = 0, length = 0;
};
OccludedBlock draw_block(size_t columns, double share, RandomStream draws);  // at least one column, if there are any

}  // namespace l0gm
