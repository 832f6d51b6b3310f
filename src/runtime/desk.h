#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "runtime/model_state.h"

namespace l0gm {

// Working memory of one thread, with counts of its own.
struct ModelState::Desk {
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, alignment); }
  };
  Desk(size_t bytes, RowEncoder::Counts empty)
      : memory(static_cast<std::byte*>(::operator new[](bytes, alignment))), counts(std::move(empty)) {}

  std::unique_ptr<std::byte[], Free> memory;
  RowEncoder::Counts counts;
  std::atomic<bool> taken{false};
};

// A desk for as long as this lives: one of those made at load, without a lock, or one more where all are taken.
class ModelState::DeskLease {
 public:
  explicit DeskLease(const ModelState& state) {
    const size_t count = state.desks_.size();
    const size_t first = state.next_desk_.fetch_add(1, std::memory_order_relaxed);  // spread: few callers try the same one
    for (size_t i = 0; i < count && desk_ == nullptr; ++i) {
      Desk& desk = *state.desks_[(first + i) % count];
      if (!desk.taken.load(std::memory_order_relaxed) && !desk.taken.exchange(true, std::memory_order_acquire)) desk_ = &desk;
    }
    if (desk_ != nullptr) return;
    own_ = std::make_unique<Desk>(state.shape_.bytes, state.encoder_.empty_counts());
    desk_ = own_.get();
  }
  ~DeskLease() { desk_->taken.store(false, std::memory_order_release); }
  DeskLease(const DeskLease&) = delete;
  DeskLease& operator=(const DeskLease&) = delete;

  std::byte* memory() const { return desk_->memory.get(); }
  RowEncoder::Counts& counts() const { return desk_->counts; }

 private:
  Desk* desk_ = nullptr;
  std::unique_ptr<Desk> own_;
};

}  // namespace l0gm
