#pragma once

#include <cstdint>

namespace l0gm {

// Bytes asked of operator new in the test program so far, by all threads: its replacement is in allocated_bytes_test.cpp of
// data/graph. What was given back still counts: a measure of work as well as of memory.
int64_t allocated_bytes();

}  // namespace l0gm
