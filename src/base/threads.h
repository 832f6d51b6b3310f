#pragma once

#include <cstdint>
#include <functional>

// Threads for code without torch (with it: data/graph/parallel.h).
namespace l0gm {

// How many threads the functions of data/graph/ use at most; 0, as at first: one per core.
void limit_own_threads(int64_t most);
int64_t own_threads();  // at least 1

// Calls work(begin, end) for pieces of [0, count) of at most `grain`, in so many threads; returns when all are done. Which thread
// has which piece is left to chance, so work must not depend on it. The first exception is thrown again here.
void in_own_threads(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& work);

}  // namespace l0gm
