#include "base/hash.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "l0gm/error.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#define L0GM_HAS_SHA_KERNEL 1
#endif

namespace l0gm {
namespace {

// FIPS 180-4: the first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t big_endian_word(const uint8_t* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | uint32_t{bytes[3]};
}

void portable_block(std::array<uint32_t, 8>& state, const uint8_t* bytes) {
  std::array<uint32_t, 64> words;
  for (size_t i = 0; i < 16; ++i) words[i] = big_endian_word(bytes + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t x = words[i - 15], y = words[i - 2];
    const uint32_t mixed_x = std::rotr(x, 7) ^ std::rotr(x, 18) ^ (x >> 3);
    const uint32_t mixed_y = std::rotr(y, 17) ^ std::rotr(y, 19) ^ (y >> 10);
    words[i] = words[i - 16] + mixed_x + words[i - 7] + mixed_y;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t sum_e = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const uint32_t choice = (e & f) ^ (~e & g);
    const uint32_t first = h + sum_e + choice + round_constants[i] + words[i];
    const uint32_t sum_a = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + sum_a + majority;
  }
  const std::array<uint32_t, 8> result = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state[i] += result[i];
}

#ifdef L0GM_HAS_SHA_KERNEL
bool processor_has_sha() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("sse4.1") != 0 && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 29 & 1) != 0;
}

// Four rounds at a time; the instructions take the state as (a b e f) and (c d g h), the highest first.
__attribute__((target("sha,sse4.1,ssse3"))) void instruction_blocks(std::array<uint32_t, 8>& state, const uint8_t* bytes,
                                                                    size_t count) {
  const auto [a, b, c, d, e, f, g, h] = state;
  __m128i abef = _mm_set_epi32(static_cast<int>(a), static_cast<int>(b), static_cast<int>(e), static_cast<int>(f));
  __m128i cdgh = _mm_set_epi32(static_cast<int>(c), static_cast<int>(d), static_cast<int>(g), static_cast<int>(h));
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  for (; count > 0; --count, bytes += 64) {
    const __m128i abef_before = abef, cdgh_before = cdgh;
    __m128i words[4];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      __m128i& now = words[i % 4];
      if (i < 4) {
        now = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * i)), big_endian);
      } else {
        const __m128i last = words[(i + 3) % 4];
        const __m128i seven_back = _mm_alignr_epi8(last, words[(i + 2) % 4], 4);
        now = _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(now, words[(i + 1) % 4]), seven_back), last);
      }
      const __m128i constants = _mm_loadu_si128(reinterpret_cast<const __m128i*>(round_constants.data() + 4 * i));
      const __m128i sum = _mm_add_epi32(now, constants);
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  std::array<uint32_t, 4> feba, hgdc;
  _mm_storeu_si128(reinterpret_cast<__m128i*>(feba.data()), abef);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(hgdc.data()), cdgh);
  state = {feba[3], feba[2], hgdc[3], hgdc[2], feba[1], feba[0], hgdc[1], hgdc[0]};
}
#else
bool processor_has_sha() { return false; }
void instruction_blocks(std::array<uint32_t, 8>&, const uint8_t*, size_t) {}
#endif

}  // namespace

Sha256::Sha256()
    : use_instructions_(processor_has_sha()),
      state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
      buffer_{} {}

Sha256 Sha256::portable() {
  Sha256 digest;
  digest.use_instructions_ = false;
  return digest;
}

void Sha256::blocks(const uint8_t* bytes, size_t count) {
  if (use_instructions_) return instruction_blocks(state_, bytes, count);
  for (; count > 0; --count, bytes += 64) portable_block(state_, bytes);
}

void Sha256::update(const void* bytes, size_t size) {
  if (size == 0) return;
  const auto* from = static_cast<const uint8_t*>(bytes);
  const size_t held = length_ % 64;
  length_ += size;
  if (held > 0) {
    const size_t taken = std::min(size, 64 - held);
    std::memcpy(buffer_.data() + held, from, taken);
    if (held + taken < 64) return;
    blocks(buffer_.data(), 1);
    from += taken;
    size -= taken;
  }
  if (size >= 64) blocks(from, size / 64);
  if (size % 64 > 0) std::memcpy(buffer_.data(), from + size / 64 * 64, size % 64);
}

std::string Sha256::hex() {
  const uint64_t bits = length_ * 8;
  std::array<uint8_t, 72> tail{0x80};
  const size_t held = length_ % 64;
  const size_t padding = (held < 56 ? 56 : 120) - held;
  for (size_t i = 0; i < 8; ++i) tail[padding + i] = static_cast<uint8_t>(bits >> (56 - 8 * i));
  update(tail.data(), padding + 8);
  std::string text;
  for (const uint32_t word : state_) text += fmt::format("{:08x}", word);
  return text;
}

std::string sha256(std::span<const int64_t> numbers) {
  return sha256({reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()});
}

std::string sha256(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes.data(), bytes.size());
  return digest.hex();
}

std::string sha256_file(const std::filesystem::path& path) {
  struct stat about{};
  if (::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
    throw UserError(
        fmt::format("'{}' is a pipe or a device; data is read more than once, so write it to a file first", path.string()));
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw UserError(fmt::format("cannot open '{}': {}", path.string(), std::strerror(errno)));
  Sha256 digest;
  std::vector<char> buffer(size_t{1} << 18);
  ssize_t count = 0;
  while ((count = ::read(descriptor, buffer.data(), buffer.size())) != 0) {
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    digest.update(buffer.data(), static_cast<size_t>(count));
  }
  const int error = errno;
  ::close(descriptor);
  if (count < 0) throw UserError(fmt::format("cannot read '{}': {}", path.string(), std::strerror(error)));
  return digest.hex();
}

}  // namespace l0gm
