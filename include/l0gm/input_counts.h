#pragma once

#include <cstdint>
#include <vector>

// What rows brought that training had not seen; CompactModel::predict (l0gm/runtime.h) adds to it:
//   l0gm::InputCounts counts = model.empty_counts();
//   model.predict(cells, probabilities, nullptr, &counts);  // then counts.unseen[i] is of model.columns()[i]
namespace l0gm {

// Per column of the model.
struct InputCounts {
  std::vector<int64_t> unseen;      // cells with a category that is not in the vocabulary (or was too rare in training)
  std::vector<int64_t> unreadable;  // not a number though the column is numeric: read as missing
  std::vector<int64_t> missing;     // marked as missing; unreadable cells are not counted here
};

}  // namespace l0gm
