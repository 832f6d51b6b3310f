#include "base/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "l0gm/error.h"

namespace l0gm {
namespace {

std::optional<DType> dtype_named(std::string_view name) {
  static constexpr std::array all = {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64,
                                     DType::i32, DType::i16, DType::i8,  DType::u8,   DType::boolean};
  for (const DType dtype : all) {
    if (name_of(dtype) == name) return dtype;
  }
  return std::nullopt;
}

// Takes the parser's events and accepts only those that the format has at that place.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}
  SafetensorsHeader take() { return std::move(header_); }

  bool start_object(size_t) override {
    if (place_ == Place::before) {
      place_ = Place::top;
    } else if (place_ == Place::top && top_key_ == "__metadata__") {
      place_ = Place::metadata;
    } else if (place_ == Place::top) {
      place_ = Place::tensor;
      seen_.clear();
      header_.entries.emplace_back().name = top_key_;
    } else {
      reject("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor && seen_.size() != 3)
      fail(fmt::format("tensor '{}' lacks dtype, shape or data_offsets", top_key_));
    place_ = place_ == Place::top ? Place::after : Place::top;
    return true;
  }

  bool key(string_t& name) override {
    if (place_ == Place::metadata) {
      if (!header_.metadata.emplace(name, "").second) fail(fmt::format("the metadata has '{}' twice", name));
      key_ = name;
    } else if (place_ == Place::tensor) {
      if (name != "dtype" && name != "shape" && name != "data_offsets")
        fail(fmt::format("tensor '{}' has an unknown '{}'", top_key_, name));
      if (!seen_.insert(name).second) fail(fmt::format("tensor '{}' has '{}' twice", top_key_, name));
      key_ = name;
    } else {
      if (name.empty()) fail("a tensor has no name");
      if (!names_.insert(name).second) fail(fmt::format("it has '{}' twice", name));
      top_key_ = name;
    }
    return true;
  }

  bool start_array(size_t) override {
    if (place_ != Place::tensor || key_ == "dtype") reject("an array");
    place_ = Place::numbers;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    place_ = Place::tensor;
    SafetensorsEntry& entry = header_.entries.back();
    if (key_ == "shape") {
      entry.shape = numbers_;
      return true;
    }
    if (numbers_.size() != 2) fail(fmt::format("tensor '{}' has {} data_offsets; 2 are needed", top_key_, numbers_.size()));
    entry.begin = static_cast<uint64_t>(numbers_[0]);
    entry.end = static_cast<uint64_t>(numbers_[1]);
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::numbers) reject("a number");
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      fail(fmt::format("tensor '{}': {} is too large", top_key_, value));
    numbers_.push_back(static_cast<int64_t>(value));
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::metadata) {
      header_.metadata[key_] = value;
    } else if (place_ == Place::tensor && key_ == "dtype") {
      const std::optional<DType> dtype = dtype_named(value);
      if (!dtype) fail(fmt::format("tensor '{}' has the type '{}', which l0gm does not support", top_key_, value));
      header_.entries.back().dtype = *dtype;
    } else {
      reject("a string");
    }
    return true;
  }

  bool null() override { reject("null"); }
  bool boolean(bool) override { reject("true or false"); }
  bool number_integer(number_integer_t) override { reject("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { reject("a number that is not an integer"); }
  bool binary(binary_t&) override { reject("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail(fmt::format("its header is not valid JSON near byte {}", position));
  }

 private:
  enum class Place { before, top, metadata, tensor, numbers, after };

  [[noreturn]] void fail(std::string what) const { fail_safetensors(file_, std::move(what)); }
  [[noreturn]] void reject(std::string_view found) const {
    if (place_ == Place::before) fail(fmt::format("its header is {}; an object is needed", found));
    if (place_ == Place::metadata) fail(fmt::format("the metadata has {} as '{}'; strings are needed", found, key_));
    if (place_ == Place::top) fail(fmt::format("its header has {} as '{}'", found, top_key_));
    fail(fmt::format("tensor '{}' has {} in its '{}'", top_key_, found, key_));
  }

  const std::string& file_;
  SafetensorsHeader header_;
  Place place_ = Place::before;
  std::string top_key_, key_;
  std::set<std::string> names_, seen_;
  std::vector<int64_t> numbers_;
};

}  // namespace

void fail_safetensors(const std::string& file, std::string what) {
  constexpr size_t longest = 400;
  if (what.size() > longest) {
    size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(what[end]) & 0xC0) == 0x80) --end;
    what = what.substr(0, end) + "…";
  }
  std::replace_if(what.begin(), what.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  throw UserError(fmt::format("'{}' is not a valid safetensors file: {}", file, what));
}

SafetensorsHeader parse_safetensors_header(std::string_view json, const std::string& file) {
  // The parser would skip a byte order mark and take a zero byte for the end.
  if (json.empty() || json.front() != '{') fail_safetensors(file, "its header does not begin with '{'");
  if (json.find('\0') != std::string_view::npos) fail_safetensors(file, "its header has a zero byte");
  HeaderReader reader(file);
  // The parser keeps its own stack and the reader stops at the first bracket that is out of place.
  nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  return reader.take();
}

}  // namespace l0gm
