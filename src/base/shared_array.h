#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace l0gm {

// Read-only values in a vector or in a mapped file, with shared ownership of either.
template <class T>
class SharedArray {
 public:
  SharedArray() = default;
  SharedArray(std::vector<T> values) {  // NOLINT: implicit, a vector converts to an array
    auto owner = std::make_shared<const std::vector<T>>(std::move(values));
    values_ = *owner;
    owner_ = std::move(owner);
  }
  SharedArray(std::shared_ptr<const void> owner, std::span<const T> values) : owner_(std::move(owner)), values_(values) {}

  const T* data() const { return values_.data(); }
  int64_t size() const { return static_cast<int64_t>(values_.size()); }
  bool empty() const { return values_.empty(); }
  const T& operator[](int64_t i) const { return values_[static_cast<size_t>(i)]; }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  std::span<const T> span() const { return values_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const T> values_;
};

}  // namespace l0gm
