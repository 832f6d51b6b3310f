#include "support/allocated_bytes.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

namespace {

std::atomic<int64_t> bytes{0};

void* counted(size_t size) {
  bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* counted(size_t size, std::align_val_t alignment) {
  bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  void* memory = nullptr;
  if (::posix_memalign(&memory, static_cast<size_t>(alignment), size) != 0) throw std::bad_alloc();
  return memory;
}

void* counted_or_null(size_t size) noexcept {
  try {
    return counted(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

void* operator new(size_t size) { return counted(size); }
void* operator new[](size_t size) { return counted(size); }
void* operator new(size_t size, std::align_val_t alignment) { return counted(size, alignment); }
void* operator new[](size_t size, std::align_val_t alignment) { return counted(size, alignment); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return counted_or_null(size); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept { return counted_or_null(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

namespace l0gm {

int64_t allocated_bytes() { return bytes.load(); }

TEST(AllocatedBytes, Counts) {
  const int64_t before = allocated_bytes();
  const auto many = std::make_unique<char[]>(1000);
  EXPECT_EQ(allocated_bytes(), before + 1000);
}

}  // namespace l0gm
