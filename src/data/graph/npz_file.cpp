#include "data/graph/npz_file.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "data/graph/npz.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

using Kind = PickleValue::Kind;

void check_csr(const CsrMatrix& matrix, const std::string& where) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  const auto entries = static_cast<int64_t>(matrix.places.size());
  if (matrix.rows < 0 || matrix.rows > most || matrix.columns < 0 || matrix.columns > most) {
    throw UserError(fmt::format("{} has the shape [{}, {}]; at most {} rows and columns can be read.", where, matrix.rows,
                                matrix.columns, most));
  }
  const bool fits = static_cast<int64_t>(matrix.offsets.size()) == matrix.rows + 1 && matrix.offsets.front() == 0 &&
                    matrix.offsets.back() == entries && static_cast<int64_t>(matrix.values.size()) == entries &&
                    std::is_sorted(matrix.offsets.begin(), matrix.offsets.end());
  if (!fits) {
    throw UserError(
        fmt::format("{}: shape [{}, {}], {} row limits, {} places and {} values do not make a CSR matrix. Write it anew.", where,
                    matrix.rows, matrix.columns, matrix.offsets.size(), entries, matrix.values.size()));
  }
  for (size_t i = 0; i < matrix.places.size(); ++i) {
    if (matrix.places[i] >= 0 && matrix.places[i] < matrix.columns) continue;
    const auto row =
        std::upper_bound(matrix.offsets.begin(), matrix.offsets.end(), static_cast<int64_t>(i)) - matrix.offsets.begin() - 1;
    throw UserError(fmt::format("{}: row {} has an entry in column {}, which does not exist: there are {}.", where, row,
                                matrix.places[i], matrix.columns));
  }
}

}  // namespace

std::string NpzFile::any_of(const std::vector<std::string>& names) const {
  const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) { return has(name); });
  return found == names.end() ? names.front() : *found;
}

CsrMatrix NpzFile::matrix(const std::string& name, const std::string& prefix) const {
  CsrMatrix matrix = has(name) ? pickled_matrix(name) : plain_matrix(name, prefix);
  check_csr(matrix, where(has(name) ? name : prefix + "_…"));
  return matrix;
}

std::vector<int64_t> NpzFile::labels(const std::string& name) const {
  return with_array(name, [&](const NumpyArray& array) {
    if (array.shape.size() == 1) return whole_numbers(array, where(name));
    throw UserError(fmt::format("{} has {} dimensions, wanted one class number for each node.", where(name), array.shape.size()));
  });
}

std::vector<std::string> NpzFile::names(const std::string& name) const {
  if (has(name)) {
    if (is_object(name)) return with_object(name, [&](const PickleValue& value) { return pickled_texts(value, name); });
    return with_array(name, [&](const NumpyArray& array) { return texts(array, where(name)); });
  }
  if (!has("metadata")) return {};
  return with_object("metadata", [&](const PickleValue& value) {
    const PickleValue* entry = value.entry(name);
    return entry == nullptr ? std::vector<std::string>() : pickled_texts(*entry, name);
  });
}

void NpzFile::damaged(const std::string& name, std::string_view found) const {
  throw UserError(
      fmt::format("{} holds {}, which is not what a graph has there. Write it anew with numpy and scipy.", where(name), found));
}

const NumpyArray& NpzFile::part(const PickleValue& matrix, const std::string& key, const std::string& name) const {
  const PickleValue* value = matrix.entry(key);
  if (value != nullptr && value->kind == Kind::array && value->array.type.kind != 'O') return value->array;
  throw UserError(fmt::format("{} is a matrix without '{}'. Write it anew with scipy.", where(name), key));
}

CsrMatrix NpzFile::pickled_matrix(const std::string& name) const {
  return with_object(name, [&](const PickleValue& value) {
    const PickleValue* shape = value.entry("_shape");
    const bool right = value.kind == Kind::matrix && shape != nullptr && shape->kind == Kind::tuple && shape->items.size() == 2 &&
                       shape->items[0]->kind == Kind::integer && shape->items[1]->kind == Kind::integer;
    if (!right) damaged(name, fmt::format("{} where a CSR matrix was wanted", name_of(value.kind)));
    return CsrMatrix{.rows = shape->items[0]->integer,
                     .columns = shape->items[1]->integer,
                     .offsets = whole_numbers(part(value, "indptr", name), where(name)),
                     .places = whole_numbers(part(value, "indices", name), where(name)),
                     .values = real_numbers(part(value, "data", name), where(name))};
  });
}

CsrMatrix NpzFile::plain_matrix(const std::string& name, const std::string& prefix) const {
  if (!has(prefix + "_indptr")) {
    throw UserError(fmt::format("{} has neither '{}' nor '{}_data', '{}_indices', '{}_indptr', '{}_shape'; it has: {}.", path_,
                                name, prefix, prefix, prefix, prefix, list_some(archive_.names())));
  }
  const auto whole = [&](const std::string& part) {
    return with_array(prefix + part, [&](const NumpyArray& array) { return whole_numbers(array, where(prefix + part)); });
  };
  const std::vector<int64_t> shape = whole("_shape");
  if (shape.size() != 2) throw UserError(fmt::format("{} has {} numbers, wanted 2.", where(prefix + "_shape"), shape.size()));
  return {.rows = shape[0],
          .columns = shape[1],
          .offsets = whole("_indptr"),
          .places = whole("_indices"),
          .values = with_array(prefix + "_data",
                               [&](const NumpyArray& array) { return real_numbers(array, where(prefix + "_data")); })};
}

std::vector<std::string> NpzFile::pickled_texts(const PickleValue& value, const std::string& name) const {
  if (value.kind == Kind::array && value.array.type.kind != 'O') return texts(value.array, where(name));
  if (value.kind == Kind::array && value.items.empty()) damaged(name, "an array without content");
  if (value.kind != Kind::array && value.kind != Kind::list) damaged(name, name_of(value.kind));
  std::vector<std::string> list;
  const uint64_t most = archive_.unpacked_bytes() + npz_repeated_text;
  uint64_t bytes = 0;
  for (const PickleValue* item : value.kind == Kind::array ? value.objects() : value.items) {
    if (item->kind != Kind::text) damaged(name, fmt::format("{} where text was wanted", name_of(item->kind)));
    bytes += item->text.size();
    if (bytes > most) {
      throw UserError(fmt::format("{} repeats texts to more than {} bytes, which no names of a graph need. Write it anew.",
                                  where(name), with_thousands(static_cast<int64_t>(most))));
    }
    list.emplace_back(item->text);
  }
  return list;
}

}  // namespace l0gm
