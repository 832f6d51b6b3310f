#include "runtime/allocation_count.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

// Counts every allocation of the test program, so that tests can check that a call makes none.
namespace {

std::atomic<int64_t> allocations{0};
thread_local size_t fails_from = SIZE_MAX;

void count(size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (size >= fails_from) throw std::bad_alloc();
}

void* counted(size_t size) {
  count(size);
  void* const memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* counted(size_t size, std::align_val_t alignment) {
  count(size);
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

namespace l0gm::testing_tools {

int64_t allocation_count() { return allocations.load(); }

FailingAllocations::FailingAllocations(size_t from_bytes) { fails_from = from_bytes; }
FailingAllocations::~FailingAllocations() { fails_from = SIZE_MAX; }

TEST(AllocationCount, Counts) {
  const int64_t before = allocation_count();
  auto many = std::make_unique<std::vector<int>>(1000);
  EXPECT_EQ(allocation_count(), before + 2);
  struct alignas(64) Wide {
    char bytes[64];
  };
  const auto wide = std::make_unique<Wide>();
  EXPECT_EQ(allocation_count(), before + 3);
  many->front() = 1;
  EXPECT_EQ(allocation_count(), before + 3);
}

TEST(AllocationCount, Fails) {
  size_t made = 0;
  bool failed = false;
  {
    const FailingAllocations failing(100 * sizeof(int));
    try {
      made += std::vector<int>(99).size();
      made += std::vector<int>(100).size();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
  }
  EXPECT_TRUE(failed);
  EXPECT_EQ(made, 99U);
  EXPECT_EQ(std::vector<int>(1000).size(), 1000U) << "allocations work again";
}

}  // namespace l0gm::testing_tools
