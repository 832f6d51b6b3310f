#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "data/graph/npy.h"

namespace l0gm {

// One value of a pickle. Values point at each other; the Pickle owns them all, so that deep or circular structures are safe.
struct PickleValue {
  enum class Kind { none, boolean, integer, real, text, bytes, tuple, list, dictionary, name, type, array, matrix };
  Kind kind = Kind::none;
  int64_t integer = 0;  // boolean, integer
  double real = 0;
  std::string_view text;                  // text, bytes; name: "module name"
  std::vector<const PickleValue*> items;  // tuple, list; dictionary: key, value, key, value, …; matrix: its dictionary; array of
                                          // objects: its list. They are shared, not copied: a small pickle must not become large
  NumpyArray array;                       // type: only array.type; array: all but bytes of objects

  const std::vector<const PickleValue*>& objects() const { return items.at(0)->items; }  // of an array of objects
  // A dictionary's or a matrix' entry of that name; nullptr when there is none.
  const PickleValue* entry(std::string_view key) const;
};

// Reads the subset of pickle that numpy arrays, scipy's CSR matrices, dictionaries and lists of them need. Nothing is executed:
// any name other than those of numpy's arrays and types, scipy's csr_matrix and csr_array, and _codecs.encode is refused with a
// UserError that names it. Protocols 2 to 5. `bytes` must outlive the result. At most most_values values, about 1.2 GB of memory;
// references to one value are pointers, and decoded bytes are together no more than the pickle has.
class Pickle {
 public:
  static constexpr size_t most_values = size_t{1} << 23;

  Pickle(std::string_view bytes, const std::string& where);
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;
  const PickleValue& value() const { return *value_; }

 private:
  friend class PickleReader;
  std::deque<PickleValue> values_;
  std::deque<std::string> texts_;  // decoded bytes and names, which the pickle does not contain verbatim
  const PickleValue* value_ = nullptr;
};

std::string_view name_of(PickleValue::Kind kind);  // for messages

}  // namespace l0gm
