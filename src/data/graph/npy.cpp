#include "data/graph/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw UserError(fmt::format("{} cannot be read as a numpy array: {}.", where, what));
}

// The header of a .npy file: a Python dictionary of three entries, in any order.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NumpyArray read() {
    NumpyArray array;
    bool type = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !type) {
        array.type = item_type(quoted(), where_);
        type = true;
      } else if (key == "fortran_order" && !order) {
        array.fortran = truth();
        order = true;
      } else if (key == "shape" && !shape) {
        array.shape = numbers();
        shape = true;
      } else {
        damaged();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (!type || !order || !shape || place_ != text_.size()) damaged();
    return array;
  }

 private:
  [[noreturn]] void damaged() const {
    fail(where_, fmt::format("its header is damaged or describes records; it is: {}", text_.substr(0, 200)));
  }
  void skip_blanks() {
    while (place_ < text_.size() && (text_[place_] == ' ' || text_[place_] == '\n')) ++place_;
  }
  bool accept(char wanted) {
    skip_blanks();
    if (place_ >= text_.size() || text_[place_] != wanted) return false;
    ++place_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) damaged();
  }
  std::string_view quoted() {
    expect('\'');
    const size_t end = text_.find('\'', place_);
    if (end == std::string_view::npos) damaged();
    const std::string_view inside = text_.substr(place_, end - place_);
    place_ = end + 1;
    return inside;
  }
  bool truth() {
    skip_blanks();
    for (const std::string_view word : {"True", "False"}) {
      if (!text_.substr(place_).starts_with(word)) continue;
      place_ += word.size();
      return word == "True";
    }
    damaged();
  }
  std::vector<int64_t> numbers() {
    std::vector<int64_t> list;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      const size_t end = text_.find_first_not_of("0123456789", place_);
      const auto number = parse_integer(text_.substr(place_, end == std::string_view::npos ? end : end - place_));
      if (!number || list.size() == 32) damaged();
      list.push_back(*number);
      place_ = end;
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return list;
  }

  std::string_view text_;
  const std::string& where_;
  size_t place_ = 0;
};

template <class Number>
Number element(const char* place, bool swapped) {
  char bytes[sizeof(Number)];
  std::memcpy(bytes, place, sizeof(Number));
  if (swapped) std::reverse(bytes, bytes + sizeof(Number));
  Number value;
  std::memcpy(&value, bytes, sizeof(Number));
  return value;
}

float from_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                             : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  if (exponent == 31) size = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  return (bits & 0x8000) != 0 ? -size : size;
}

// Calls take(value) with a number of the array's own type for each element; `wanted` is the expected type, for the message.
template <class Take>
void each_number(const NumpyArray& array, const std::string& where, std::string_view wanted, const Take& take) {
  const auto loop = [&](auto read) {
    const char* end = array.bytes.data() + array.bytes.size();
    for (const char* place = array.bytes.data(); place < end; place += array.type.size) take(read(place));
  };
  const bool swapped = array.type.swapped;
  const auto loop_as = [&](auto number) {
    loop([swapped](const char* place) { return element<decltype(number)>(place, swapped); });
  };
  // Text has sizes of any length, which would be mistaken for those of numbers.
  const bool text = array.type.kind == 'U' || array.type.kind == 'S' || array.type.size > 8;
  switch (text ? 0 : array.type.kind * 16 + static_cast<int>(array.type.size)) {
    case 'b' * 16 + 1:
      return loop([](const char* place) { return *place != 0 ? 1 : 0; });
    case 'i' * 16 + 1:
      return loop_as(int8_t{});
    case 'i' * 16 + 2:
      return loop_as(int16_t{});
    case 'i' * 16 + 4:
      return loop_as(int32_t{});
    case 'i' * 16 + 8:
      return loop_as(int64_t{});
    case 'u' * 16 + 1:
      return loop_as(uint8_t{});
    case 'u' * 16 + 2:
      return loop_as(uint16_t{});
    case 'u' * 16 + 4:
      return loop_as(uint32_t{});
    case 'u' * 16 + 8:
      return loop_as(uint64_t{});
    case 'f' * 16 + 2:
      return loop([swapped](const char* place) { return from_half(element<uint16_t>(place, swapped)); });
    case 'f' * 16 + 4:
      return loop_as(float{});
    case 'f' * 16 + 8:
      return loop_as(double{});
    default:
      fail(where, fmt::format("it holds elements of type {}{}, wanted {}", array.type.kind, array.type.size, wanted));
  }
}

void refuse_order(const NumpyArray& array, const std::string& where) {
  if (array.fortran && array.shape.size() > 1)
    fail(where, "its columns come first (Fortran order); save it with numpy.ascontiguousarray");
}

// UTF-32 to UTF-8; numpy pads with zeros.
std::string text_of(const char* place, int64_t characters, bool swapped, const std::string& where) {
  std::string text;
  for (int64_t i = 0; i < characters; ++i) {
    const auto code = element<uint32_t>(place + i * 4, swapped);
    if (code == 0) break;
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) fail(where, "one of its texts is not valid Unicode");
    if (code < 0x80) {
      text += static_cast<char>(code);
      continue;
    }
    const int following = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    text += static_cast<char>(first[following] | code >> (6 * following));
    for (int k = following - 1; k >= 0; --k) text += static_cast<char>(0x80 | (code >> (6 * k) & 0x3F));
  }
  return text;
}

}  // namespace

ItemType item_type(std::string_view text, const std::string& where) {
  ItemType type;
  std::string_view rest = text;
  if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
    type.swapped = rest[0] == '>';
    rest.remove_prefix(1);
  }
  if (rest == "O" || rest == "O8" || rest == "O4") return {.kind = 'O', .size = 0, .swapped = false};
  const auto size = rest.size() < 2 ? std::nullopt : parse_integer(rest.substr(1));
  if (size && *size >= 0 && *size < 1 << 20 && std::string_view("biufUS").find(rest[0]) != std::string_view::npos) {
    type.kind = rest[0];
    type.size = type.kind == 'U' ? *size * 4 : *size;
    if (type.size > 0 && (type.kind == 'U' || type.kind == 'S' || type.size <= 8)) return type;
  }
  fail(where, fmt::format("its elements have the type '{}', wanted numbers or text", text.substr(0, 100)));
}

int64_t NumpyArray::elements() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

void check_size(const NumpyArray& array, const std::string& where) {
  if (array.type.kind == 'O') return;
  int64_t product = array.type.size;
  bool empty = false;
  for (const int64_t extent : array.shape) {
    empty = empty || extent == 0;
    if (extent < 0 || (extent > 0 && __builtin_mul_overflow(product, extent, &product)))
      fail(where, "its shape is negative or too large");
  }
  const int64_t wanted = empty ? 0 : product, found = static_cast<int64_t>(array.bytes.size());
  if (found == wanted) return;
  fail(where, fmt::format("it has {} bytes of data, its shape needs {}: it is cut off or damaged", with_thousands(found),
                          with_thousands(wanted)));
}

NumpyArray read_npy(std::string_view bytes, const std::string& where) {
  constexpr std::string_view magic("\x93NUMPY", 6);
  if (!bytes.starts_with(magic) || bytes.size() < 10) fail(where, "it does not start with the signature of a .npy file");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) fail(where, fmt::format("it has version {}, wanted 1 to 3", version));
  const size_t begin = version == 1 ? 10 : 12;
  if (bytes.size() < begin) fail(where, "it is cut off");
  const size_t length = version == 1 ? element<uint16_t>(bytes.data() + 8, false) : element<uint32_t>(bytes.data() + 8, false);
  if (length > bytes.size() - begin || length > 1 << 16)
    fail(where, "its header is longer than the file: it is cut off or damaged");
  NumpyArray array = HeaderReader(bytes.substr(begin, length), where).read();
  array.bytes = bytes.substr(begin + length);
  check_size(array, where);
  return array;
}

std::vector<int64_t> whole_numbers(const NumpyArray& array, const std::string& where) {
  refuse_order(array, where);
  std::vector<int64_t> numbers;
  if (array.type.kind != 'O') numbers.reserve(static_cast<size_t>(array.elements()));
  each_number(array, where, "whole numbers", [&](auto value) {
    const auto number = static_cast<double>(value);
    if (!(std::fabs(number) < 9e15) || number != std::floor(number)) {
      fail(where, fmt::format("element {} is {}, wanted a whole number", numbers.size(), number));
    }
    numbers.push_back(static_cast<int64_t>(value));
  });
  return numbers;
}

std::vector<float> real_numbers(const NumpyArray& array, const std::string& where) {
  std::vector<float> numbers;
  if (array.type.kind != 'O') numbers.reserve(static_cast<size_t>(array.elements()));
  each_number(array, where, "numbers", [&](auto value) { numbers.push_back(static_cast<float>(value)); });
  if (!array.fortran || array.shape.size() < 2) return numbers;
  if (array.shape.size() > 2) refuse_order(array, where);
  const auto rows = static_cast<size_t>(array.shape[0]), columns = static_cast<size_t>(array.shape[1]);
  std::vector<float> transposed(numbers.size());
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) transposed[row * columns + column] = numbers[column * rows + row];
  }
  return transposed;
}

std::vector<std::string> texts(const NumpyArray& array, const std::string& where) {
  refuse_order(array, where);
  if (array.type.kind != 'U' && array.type.kind != 'S') fail(where, "it holds numbers, wanted text");
  std::vector<std::string> list;
  const char* end = array.bytes.data() + array.bytes.size();
  for (const char* place = array.bytes.data(); place < end; place += array.type.size) {
    if (array.type.kind == 'U') {
      list.push_back(text_of(place, array.type.size / 4, array.type.swapped, where));
      continue;
    }
    const std::string_view padded(place, static_cast<size_t>(array.type.size));
    list.emplace_back(padded.substr(0, padded.find('\0')));
    if (first_invalid_utf8(list.back())) fail(where, "one of its texts is not UTF-8");
  }
  return list;
}

}  // namespace l0gm
