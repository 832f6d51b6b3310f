#pragma once

#include <cstdint>

namespace l0gm {

// From now on large blocks that LibTorch frees on the processor are kept and handed out again. Otherwise each goes back to the
// system and comes again page by page: a third of an epoch over a large graph. What is kept and what is in use together never
// exceed the most of these blocks that was in use at once. Once per process; later calls do nothing.
void keep_freed_memory();

// Bytes of large blocks: in use, and kept for the next ones.
struct LargeBlocks {
  int64_t used = 0, kept = 0, most_used = 0;
};
LargeBlocks large_blocks();

}  // namespace l0gm
