#include "data/graph/zip.h"

#include <fmt/format.h>

#include <algorithm>

#ifdef L0GM_HAS_ZLIB
#include <zlib.h>
#endif

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

// Sizes of the fixed parts of the records, and the values that mean "see the 64-bit extra field".
constexpr uint64_t end_size = 22, end64_size = 56, locator_size = 20, directory_entry_size = 46, local_header_size = 30;
constexpr uint64_t in_extra32 = 0xFFFFFFFF, in_extra16 = 0xFFFF;
constexpr uint32_t stored = 0, deflated = 8, encrypted_flag = 1;

uint64_t number_at(std::string_view bytes, uint64_t place, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; ++i)
    value |= uint64_t{static_cast<unsigned char>(bytes[place + static_cast<uint64_t>(i)])} << (8 * i);
  return value;
}

bool signed_as(std::string_view bytes, uint64_t place, std::string_view signature) { return bytes.substr(place, 4) == signature; }

// The position of the end record: at the end of the file, followed by a comment of the stated length; bytes.size(): not found.
uint64_t find_end(std::string_view bytes) {
  if (bytes.size() < end_size) return bytes.size();
  const uint64_t last = bytes.size() - end_size, first = last > in_extra16 ? last - in_extra16 : 0;
  for (uint64_t place = last + 1; place-- > first;) {
    if (signed_as(bytes, place, "PK\5\6") && number_at(bytes, place + 20, 2) == last - place) return place;
  }
  return bytes.size();
}

// The extra field that contains 64-bit numbers, or an empty view.
std::string_view wide_numbers(std::string_view extra) {
  while (extra.size() >= 4) {
    const uint64_t size = number_at(extra, 2, 2);
    if (size > extra.size() - 4) return {};
    if (number_at(extra, 0, 2) == 1) return extra.substr(4, size);
    extra.remove_prefix(4 + size);
  }
  return {};
}

}  // namespace

void ZipArchive::fail(const std::string& what) const {
  throw UserError(fmt::format("'{}' cannot be read as a zip archive: {}. Copy or write it anew.", path_.string(), what));
}

ZipArchive::ZipArchive(const std::filesystem::path& path) : path_(path), file_(path) { read_directory(); }

void ZipArchive::read_directory() {
  const std::string_view bytes = file_.bytes();
  if (!bytes.starts_with("PK")) fail("it does not start with the signature of one");
  uint64_t end = find_end(bytes);
  if (end == bytes.size()) fail("its end is missing: it is cut off");
  uint64_t count = number_at(bytes, end + 10, 2), size = number_at(bytes, end + 12, 4), place = number_at(bytes, end + 16, 4);
  if ((count == in_extra16 || size == in_extra32 || place == in_extra32) && end >= locator_size &&
      signed_as(bytes, end - locator_size, "PK\6\7")) {
    const uint64_t wide = number_at(bytes, end - locator_size + 8, 8);
    if (wide > end || end - wide < end64_size || !signed_as(bytes, wide, "PK\6\6")) fail("its 64-bit end record is damaged");
    count = number_at(bytes, wide + 32, 8);
    size = number_at(bytes, wide + 40, 8);
    place = number_at(bytes, wide + 48, 8);
    end = wide;
  }
  if (place > end || size != end - place || count > size / directory_entry_size)
    fail("its list of contents is damaged or cut off");
  if (count > most_entries) {
    fail(fmt::format("it holds {} files, at most {} are read", with_thousands(static_cast<int64_t>(count)),
                     with_thousands(static_cast<int64_t>(most_entries))));
  }
  for (uint64_t i = 0; i < count; ++i) place = read_entry(place, end);
  if (place != end) fail("its list of contents is damaged");
}

uint64_t ZipArchive::read_entry(uint64_t place, uint64_t end) {
  const std::string_view bytes = file_.bytes();
  if (end - place < directory_entry_size || !signed_as(bytes, place, "PK\1\2")) fail("its list of contents is damaged");
  Entry entry{.name = {},
              .flags = static_cast<uint32_t>(number_at(bytes, place + 8, 2)),
              .method = static_cast<uint32_t>(number_at(bytes, place + 10, 2)),
              .crc = static_cast<uint32_t>(number_at(bytes, place + 16, 4)),
              .packed = number_at(bytes, place + 20, 4),
              .size = number_at(bytes, place + 24, 4),
              .place = number_at(bytes, place + 42, 4)};
  const uint64_t name = number_at(bytes, place + 28, 2), extra = number_at(bytes, place + 30, 2),
                 comment = number_at(bytes, place + 32, 2);
  const uint64_t length = directory_entry_size + name + extra + comment;
  if (length > end - place) fail("its list of contents is damaged");
  entry.name = bytes.substr(place + directory_entry_size, name);
  std::string_view wide = wide_numbers(bytes.substr(place + directory_entry_size + name, extra));
  for (uint64_t* field : {&entry.size, &entry.packed, &entry.place}) {
    if (*field != in_extra32) continue;
    if (wide.size() < 8) fail(fmt::format("the size of '{}' is missing", entry.name));
    *field = number_at(wide, 0, 8);
    wide.remove_prefix(8);
  }
  if (!places_.emplace(entry.name, entries_.size()).second) fail(fmt::format("it holds '{}' twice", entry.name));
  const uint64_t most = std::max(always_unpacked, bytes.size() * most_ratio);
  if (entry.size > most - unpacked_) {
    fail(fmt::format("its contents claim more than {} bytes, {} times its size is the most that is unpacked",
                     with_thousands(static_cast<int64_t>(most)), most / bytes.size()));
  }
  unpacked_ += entry.size;
  entries_.push_back(std::move(entry));
  return place + length;
}

std::vector<std::string> ZipArchive::names() const {
  std::vector<std::string> all;
  for (const Entry& entry : entries_) all.push_back(entry.name);
  return all;
}

bool ZipArchive::has(const std::string& name) const { return places_.contains(name); }

std::string_view ZipArchive::packed_bytes(const Entry& entry) const {
  const std::string_view bytes = file_.bytes();
  if (entry.place > bytes.size() || bytes.size() - entry.place < local_header_size || !signed_as(bytes, entry.place, "PK\3\4")) {
    fail(fmt::format("'{}' is not where it should be", entry.name));
  }
  const uint64_t name = number_at(bytes, entry.place + 26, 2), extra = number_at(bytes, entry.place + 28, 2);
  const uint64_t begin = entry.place + local_header_size + name + extra;
  if (begin > bytes.size() || bytes.substr(entry.place + local_header_size, name) != entry.name) {
    fail(fmt::format("'{}' is not where it should be", entry.name));
  }
  if (entry.packed > bytes.size() - begin) fail(fmt::format("'{}' is longer than the archive", entry.name));
  return bytes.substr(begin, entry.packed);
}

std::string ZipArchive::read(const std::string& name) const {
  const auto place = places_.find(name);
  if (place == places_.end()) {
    throw UserError(fmt::format("'{}' holds no '{}'; it holds: {}.{}", path_.string(), name, list_some(names()),
                                did_you_mean(name, names())));
  }
  const Entry& entry = entries_[place->second];
  if ((entry.flags & encrypted_flag) != 0) fail(fmt::format("'{}' is encrypted", name));
  if (entry.method != stored && entry.method != deflated) {
    fail(fmt::format("'{}' is compressed by method {}, wanted stored or deflated", name, entry.method));
  }
  return unpack(entry);
}

#ifdef L0GM_HAS_ZLIB
namespace {

struct Inflater {
  z_stream state{};
  Inflater() {
    if (inflateInit2(&state, -15) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&state); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

// Decompresses all of `packed` into exactly `size` bytes; false if that fails. Memory grows with the actual output.
bool inflate_all(std::string_view packed, uint64_t size, std::string& out) {
  constexpr uint64_t step = uint64_t{1} << 24, most_at_once = uint64_t{1} << 30;
  Inflater inflater;
  z_stream& state = inflater.state;
  uint64_t taken = 0, made = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    if (made == out.size()) out.resize(std::min(size, std::max(step, made * 2)));
    char nothing = 0;  // never written to: only the end of the stream is left to read
    const uint64_t room = std::min(out.size() - made, most_at_once), input = std::min(packed.size() - taken, most_at_once);
    state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + taken));
    state.avail_in = static_cast<uInt>(input);
    state.next_out = reinterpret_cast<Bytef*>(room == 0 ? &nothing : out.data() + made);
    state.avail_out = static_cast<uInt>(room);
    result = inflate(&state, Z_NO_FLUSH);
    taken += input - state.avail_in;
    made += room - state.avail_out;
  }
  if (result == Z_MEM_ERROR) throw std::bad_alloc();
  return result == Z_STREAM_END && made == size && taken == packed.size();
}

}  // namespace

std::string ZipArchive::unpack(const Entry& entry) const {
  const std::string_view packed = packed_bytes(entry);
  constexpr uint64_t best_ratio = 1032;  // of deflate
  const uint64_t most = entry.method == stored ? entry.packed : entry.packed * best_ratio;
  if (entry.size > most || (entry.method == stored && entry.size != entry.packed)) {
    fail(fmt::format("'{}' claims {} bytes, but its {} compressed bytes can hold at most {}", entry.name,
                     with_thousands(static_cast<int64_t>(entry.size)), with_thousands(static_cast<int64_t>(entry.packed)),
                     with_thousands(static_cast<int64_t>(most))));
  }
  std::string out;
  if (entry.method == stored) {
    out = packed;
  } else if (!inflate_all(packed, entry.size, out)) {
    fail(fmt::format("'{}' cannot be decompressed", entry.name));
  }
  if (crc32_z(crc32_z(0, nullptr, 0), reinterpret_cast<const Bytef*>(out.data()), out.size()) != entry.crc) {
    fail(fmt::format("the content of '{}' does not match its checksum", entry.name));
  }
  return out;
}
#else
std::string ZipArchive::unpack(const Entry&) const {
  throw UserError(
      fmt::format("'{}' is a zip archive, which this build of l0gm cannot read (it was built without zlib).", path_.string()));
}
#endif

}  // namespace l0gm
