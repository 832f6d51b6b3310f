#pragma once

#include <cstdint>
#include <functional>

// Threads for code that does not use torch (with torch: gate/in_parallel.h).
namespace l0gm {

// The most threads that parallel_for may use; 0, the default: one per core.
void set_thread_limit(int64_t most);
int64_t thread_limit();  // at least 1

// Calls work(begin, end) for pieces of [0, count) of at most `grain`, in up to thread_limit() threads; returns when all are done.
// Pieces go to threads in no fixed order, so the result of work must not depend on it. The first exception is rethrown here.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t begin, int64_t end)>& work);

}  // namespace l0gm
