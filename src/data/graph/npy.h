#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace l0gm {

// The type of an element of a numpy array. kind: b (boolean), i, u, f, U (text in UTF-32), S (bytes), O (Python objects,
// pickled).
struct ItemType {
  char kind = 0;
  int64_t size = 0;      // bytes; 0 for O
  bool swapped = false;  // big-endian
};

// "<i4", "|O", "U19", …; UserError naming `where` for anything else (dates, complex numbers, records).
ItemType item_type(std::string_view text, const std::string& where);

// A numpy array in its memory layout, its size checked against its shape. Points into the caller's bytes.
struct NumpyArray {
  ItemType type;
  bool fortran = false;  // columns first
  std::vector<int64_t> shape;
  std::string_view bytes;  // kind O: what follows the header, a pickle
  int64_t elements() const;
};

// UserError naming `where` unless `bytes` has the size that type and shape need. Kind O is not checked.
void check_size(const NumpyArray& array, const std::string& where);

// A whole .npy file (versions 1 to 3).
NumpyArray read_npy(std::string_view bytes, const std::string& where);

// The elements in the order of rows. UserError naming `where` when they have another type; whole_numbers also refuses numbers
// with a fraction.
std::vector<int64_t> whole_numbers(const NumpyArray& array, const std::string& where);
std::vector<float> real_numbers(const NumpyArray& array, const std::string& where);
std::vector<std::string> texts(const NumpyArray& array, const std::string& where);

}  // namespace l0gm
