#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace l0gm {

class Sha256 {
 public:
  Sha256();
  // The same digest without SHA instructions; tests compare the two.
  static Sha256 portable();
  void update(const void* bytes, size_t size);
  std::string hex();  // finishes; 64 lower-case digits. Call once.

 private:
  void blocks(const uint8_t* bytes, size_t count);
  bool use_instructions_;
  std::array<uint32_t, 8> state_;
  std::array<uint8_t, 64> buffer_;
  uint64_t length_ = 0;
};

std::string sha256(std::string_view bytes);
std::string sha256(std::span<const int64_t> numbers);        // rows or nodes of a split
std::string sha256_file(const std::filesystem::path& path);  // reads in pieces; UserError if it cannot be read

}  // namespace l0gm
