#pragma once

#include <cstddef>
#include <cstdint>

namespace l0gm::testing_tools {

// Calls of operator new in the test program so far, by all threads: its replacement is in allocation_count_test.cpp.
int64_t allocation_count();

// During its lifetime, this thread's allocations of that many bytes or more fail. Small ones do not: destructors of JSON need
// some.
class FailingAllocations {
 public:
  explicit FailingAllocations(size_t from_bytes);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;
};

}  // namespace l0gm::testing_tools
