#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace l0gm {

// Numbers that begin on a cache line, as vectors like them.
template <class T>
class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t count) { resize(count); }
  AlignedBuffer(AlignedBuffer&& other) noexcept : data_(std::move(other.data_)), size_(std::exchange(other.size_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    data_ = std::move(other.data_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  // All zero; what it held is gone.
  void resize(size_t count) {
    data_.reset();
    size_ = 0;
    data_.reset(static_cast<T*>(::operator new(count * sizeof(T) + sizeof(T), alignment)));
    std::fill_n(data_.get(), count, T{});
    size_ = count;
  }
  void grow(size_t count) {
    if (count > size_) resize(count);
  }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(T* data) const { ::operator delete(data, alignment); }
  };
  std::unique_ptr<T[], Free> data_;
  size_t size_ = 0;
};

}  // namespace l0gm
