#pragma once

#include <map>
#include <string>
#include <vector>

namespace l0gm {

// How much several choices of inputs agree.
struct Stability {
  std::map<std::string, int64_t> times;  // in how many of the choices each input is that is in any
  // Nogueira, Sechidis and Brown (2018): 1 where every choice is the same, 0 what drawing by chance gives on average, NaN where
  // it is undefined (one choice only; all inputs or none chosen every time).
  double agreement = 0;
};
Stability stability_of(const std::vector<std::vector<std::string>>& choices, int64_t inputs);

}  // namespace l0gm
