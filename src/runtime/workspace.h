#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "runtime/model_state.h"

namespace l0gm {

// Working memory of one thread, with counts of its own.
struct ModelState::Workspace {
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, alignment); }
  };
  Workspace(size_t bytes, RowEncoder::Counts empty)
      : memory(static_cast<std::byte*>(::operator new[](bytes, alignment))), counts(std::move(empty)) {}

  std::unique_ptr<std::byte[], Free> memory;
  RowEncoder::Counts counts;
  std::atomic<bool> in_use{false};
};

// Holds a workspace for its lifetime: one of those made at load, found without a lock, or a new one when all are in use.
class ModelState::WorkspaceLease {
 public:
  explicit WorkspaceLease(const ModelState& state) {
    const size_t count = state.workspaces_.size();
    // Every caller starts at another workspace, so that two rarely try the same one.
    const size_t first = state.next_workspace_.fetch_add(1, std::memory_order_relaxed);
    for (size_t i = 0; i < count && workspace_ == nullptr; ++i) {
      Workspace& workspace = *state.workspaces_[(first + i) % count];
      if (!workspace.in_use.load(std::memory_order_relaxed) && !workspace.in_use.exchange(true, std::memory_order_acquire))
        workspace_ = &workspace;
    }
    if (workspace_ != nullptr) return;
    own_ = std::make_unique<Workspace>(state.memory_layout_.bytes, state.encoder_.empty_counts());
    workspace_ = own_.get();
  }
  ~WorkspaceLease() { workspace_->in_use.store(false, std::memory_order_release); }
  WorkspaceLease(const WorkspaceLease&) = delete;
  WorkspaceLease& operator=(const WorkspaceLease&) = delete;

  std::byte* memory() const { return workspace_->memory.get(); }
  RowEncoder::Counts& counts() const { return workspace_->counts; }

 private:
  Workspace* workspace_ = nullptr;
  std::unique_ptr<Workspace> own_;
};

}  // namespace l0gm
