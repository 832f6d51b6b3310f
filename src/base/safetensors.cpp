#include "base/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/safetensors_header.h"
#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

constexpr std::string_view metadata_name = "__metadata__", digest_name = "sha256";

// The number of bytes for dtype and shape, or nothing if it overflows. Dimensions of 0 do not hide an overflow, since strides
// computed from the shape would overflow as well.
std::optional<size_t> bytes_of(DType dtype, const std::vector<int64_t>& shape) {
  int64_t product = static_cast<int64_t>(size_of(dtype));
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(product, extent, &product)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : static_cast<size_t>(product);
}

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return value;
}

// Every byte of the region belongs to exactly one tensor.
void check_layout(const std::vector<SafetensorsEntry>& entries, size_t region_size, const std::string& file) {
  std::vector<const SafetensorsEntry*> order;
  for (const SafetensorsEntry& entry : entries) {
    const auto [begin, end] = std::pair(entry.begin, entry.end);
    if (begin > end || end > region_size) {
      fail_safetensors(file,
                       fmt::format("tensor '{}' lies at bytes {} to {} of a region of {}", entry.name, begin, end, region_size));
    }
    const std::optional<size_t> wanted = bytes_of(entry.dtype, entry.shape);
    if (!wanted) fail_safetensors(file, fmt::format("the shape of tensor '{}' is too large", entry.name));
    if (*wanted != end - begin) {
      fail_safetensors(file,
                       fmt::format("tensor '{}' has {} bytes; its type and shape need {}", entry.name, end - begin, *wanted));
    }
    order.push_back(&entry);
  }
  std::sort(order.begin(), order.end(), [](const SafetensorsEntry* a, const SafetensorsEntry* b) {
    return std::tie(a->begin, a->end) < std::tie(b->begin, b->end);
  });
  uint64_t expected = 0;
  for (const SafetensorsEntry* entry : order) {
    if (entry->begin != expected) {
      fail_safetensors(file, fmt::format("tensor '{}' begins at byte {} where {} was expected: tensors overlap or leave a gap",
                                         entry->name, entry->begin, expected));
    }
    expected = entry->end;
  }
  if (expected != region_size) fail_safetensors(file, fmt::format("{} bytes follow the last tensor", region_size - expected));
}

using Named = std::pair<const std::string, TensorBytes>;

// The widest types first, so that each tensor is aligned to its type. A tensor that could not be read back is a
// std::invalid_argument.
std::vector<const Named*> order_in_file(const std::map<std::string, TensorBytes>& tensors) {
  std::vector<const Named*> order;
  for (const Named& named : tensors) {
    const auto& [name, tensor] = named;
    if (name.empty() || name == metadata_name)
      throw std::invalid_argument(fmt::format("'{}' cannot be the name of a tensor", name));
    if (bytes_of(tensor.dtype, tensor.shape) != tensor.bytes.size()) {
      throw std::invalid_argument(fmt::format("tensor '{}': {} bytes do not fit its type and shape", name, tensor.bytes.size()));
    }
    order.push_back(&named);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const Named* a, const Named* b) { return size_of(a->second.dtype) > size_of(b->second.dtype); });
  return order;
}

}  // namespace

size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
    case DType::i16:
      return 2;
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 1;
  }
  throw std::logic_error("unknown DType");
}

std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "F64";
    case DType::f32:
      return "F32";
    case DType::f16:
      return "F16";
    case DType::bf16:
      return "BF16";
    case DType::i64:
      return "I64";
    case DType::i32:
      return "I32";
    case DType::i16:
      return "I16";
    case DType::i8:
      return "I8";
    case DType::u8:
      return "U8";
    case DType::boolean:
      return "BOOL";
  }
  throw std::logic_error("unknown DType");
}

int64_t TensorBytes::elements() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

struct SafetensorsFile::State {
  std::unique_ptr<MappedFile> map;  // one of the two holds the bytes
  std::string bytes;
  std::string name;
  std::map<std::string, std::string> metadata;
  std::map<std::string, TensorBytes> tensors;

  void read(std::string_view file) {
    if (file.size() < 8) fail_safetensors(name, fmt::format("it has {} bytes; a header length alone takes 8", file.size()));
    const uint64_t header_size = little_endian(file);
    if (header_size > largest_safetensors_header || header_size > file.size() - 8) {
      fail_safetensors(
          name,
          fmt::format("its header should have {} bytes, but {} follow and {} are allowed: it is cut off or another kind of file",
                      header_size, file.size() - 8, largest_safetensors_header));
    }
    SafetensorsHeader header = parse_safetensors_header(file.substr(8, header_size), name);
    const std::string_view region = file.substr(8 + header_size);
    check_layout(header.entries, region.size(), name);
    metadata = std::move(header.metadata);
    const auto digest = metadata.find(std::string(digest_name));
    if (digest != metadata.end() && digest->second != sha256(region)) {
      fail_safetensors(name, "the tensors do not match the SHA-256 in its header: it is damaged");
    }
    for (SafetensorsEntry& entry : header.entries) {
      const std::string_view view = region.substr(entry.begin, entry.end - entry.begin);
      tensors.emplace(std::move(entry.name), TensorBytes{entry.dtype, std::move(entry.shape), {view.data(), view.size()}});
    }
  }
};

SafetensorsFile::SafetensorsFile() : state_(std::make_unique<State>()) {}
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : SafetensorsFile() {
  state_->name = path.string();
  state_->map = std::make_unique<MappedFile>(path);
  state_->read(state_->map->bytes());
}

SafetensorsFile SafetensorsFile::from_bytes(std::string bytes, std::string name) {
  SafetensorsFile file;
  file.state_->name = std::move(name);
  file.state_->bytes = std::move(bytes);
  file.state_->read(file.state_->bytes);
  return file;
}

const std::map<std::string, std::string>& SafetensorsFile::metadata() const { return state_->metadata; }
const std::map<std::string, TensorBytes>& SafetensorsFile::tensors() const { return state_->tensors; }
bool SafetensorsFile::has(const std::string& name) const { return state_->tensors.contains(name); }

const TensorBytes& SafetensorsFile::tensor(const std::string& name) const {
  const auto found = state_->tensors.find(name);
  if (found != state_->tensors.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [other, tensor] : state_->tensors) names.push_back(other);
  throw UserError(fmt::format("'{}' has no tensor '{}'; it has: {}.{}", state_->name, name,
                              names.empty() ? "none" : list_some(names), did_you_mean(name, names)));
}

std::string digest_of_tensors(const std::map<std::string, TensorBytes>& tensors) {
  Sha256 digest;
  for (const Named* named : order_in_file(tensors)) digest.update(named->second.bytes.data(), named->second.bytes.size());
  return digest.hex();
}

void write_safetensors(const std::filesystem::path& path, const std::map<std::string, TensorBytes>& tensors,
                       std::map<std::string, std::string> metadata) {
  const std::vector<const Named*> order = order_in_file(tensors);
  metadata[std::string(digest_name)] = digest_of_tensors(tensors);
  nlohmann::ordered_json header;
  header[std::string(metadata_name)] = metadata;
  uint64_t offset = 0;
  for (const Named* named : order) {
    const auto& [name, tensor] = *named;
    const uint64_t end = offset + tensor.bytes.size();
    header[name] = {{"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > largest_safetensors_header) throw std::invalid_argument("the header of a safetensors file is over 100 MB");

  AtomicFile file(path);
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(text.size() >> (8 * i) & 0xFF);
  file.write(length);
  file.write(text);
  for (const Named* named : order) file.write({named->second.bytes.data(), named->second.bytes.size()});
  file.commit();
}

}  // namespace l0gm
