#include "training/kept_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

namespace l0gm {

namespace {

constexpr size_t large = size_t{4} << 20;  // bytes from which a block is ours
constexpr size_t page = size_t{2} << 20;   // of huge pages, which random reads of rows profit from
constexpr size_t waste = 8;                // a kept block serves what needs all of it but an eighth

size_t rounded(size_t bytes) { return (bytes + page - 1) / page * page; }

// Aligned to huge pages; null: the system has no more.
void* map_block(size_t bytes) {
  void* base = mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(base), aligned = rounded(begin);
  if (aligned > begin) munmap(base, aligned - begin);
  if (begin + page > aligned) munmap(reinterpret_cast<void*>(aligned + bytes), begin + page - aligned);
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_HUGEPAGE);  // a hint: without it, pages are small
  return reinterpret_cast<void*>(aligned);
}

class KeptBlocks final : public c10::Allocator {
 public:
  explicit KeptBlocks(c10::Allocator* small) : small_(small) {}

  c10::DataPtr allocate(size_t bytes) override {
    void* block = bytes < large ? nullptr : take(rounded(bytes));
    if (block != nullptr) return {block, block, &release, c10::Device(c10::DeviceType::CPU)};
    try {
      return small_->allocate(bytes);
    } catch (const c10::Error&) {  // no more memory, but for what is kept
      if (!drop_kept()) throw;
      return small_->allocate(bytes);
    }
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { std::memcpy(to, from, bytes); }

  LargeBlocks count() {
    const std::lock_guard lock(mutex_);
    return {static_cast<int64_t>(used_), static_cast<int64_t>(kept_), static_cast<int64_t>(most_used_)};
  }

  static KeptBlocks* installed;

 private:
  static void release(void* block) { installed->give_back(block); }

  void* take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = free_.lower_bound(bytes);
    if (found != free_.end() && found->first - bytes <= found->first / waste) {
      void* const block = found->second;
      use(block, found->first);
      kept_ -= found->first;
      free_.erase(found);
      return block;
    }
    while (!free_.empty() && used_ + kept_ + bytes > std::max(most_used_, used_ + bytes)) unmap_largest();
    void* block = map_block(bytes);
    while (block == nullptr && !free_.empty()) {
      unmap_largest();
      block = map_block(bytes);
    }
    if (block != nullptr) use(block, bytes);
    return block;
  }

  void give_back(void* block) {
    std::unique_lock lock(mutex_);
    const auto found = sizes_.find(block);
    if (found == sizes_.end()) {  // a small one, freed without the pointer that it came with
      lock.unlock();
      small_->raw_deleter()(block);
      return;
    }
    free_.emplace(found->second, block);
    kept_ += found->second;
    used_ -= found->second;
    sizes_.erase(found);
  }

  bool drop_kept() {
    const std::lock_guard lock(mutex_);
    const bool any = !free_.empty();
    while (!free_.empty()) unmap_largest();
    return any;
  }

  void use(void* block, size_t bytes) {
    sizes_.emplace(block, bytes);
    used_ += bytes;
    most_used_ = std::max(most_used_, used_);
  }

  void unmap_largest() {
    const auto last = std::prev(free_.end());
    munmap(last->second, last->first);
    kept_ -= last->first;
    free_.erase(last);
  }

  c10::Allocator* small_;
  std::mutex mutex_;
  std::multimap<size_t, void*> free_;
  std::unordered_map<void*, size_t> sizes_;  // of blocks in use
  size_t used_ = 0, kept_ = 0, most_used_ = 0;
};

KeptBlocks* KeptBlocks::installed = nullptr;

}  // namespace

void keep_freed_memory() {
  static std::once_flag once;
  std::call_once(once, [] {
    KeptBlocks::installed = new KeptBlocks(c10::GetCPUAllocator());  // as long as the process: tensors outlive every owner
    c10::SetCPUAllocator(KeptBlocks::installed, /*priority=*/1);
  });
}

LargeBlocks large_blocks() { return KeptBlocks::installed == nullptr ? LargeBlocks{} : KeptBlocks::installed->count(); }

}  // namespace l0gm
