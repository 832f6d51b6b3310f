#include "data/graph/pickle_numpy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "l0gm/error.h"

namespace l0gm {
namespace {

using Kind = PickleValue::Kind;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw UserError(fmt::format("{} cannot be read: {}. Write it anew with numpy and scipy.", where, what));
}

bool is_reconstruct(std::string_view name) {
  return name == "numpy.core.multiarray _reconstruct" || name == "numpy._core.multiarray _reconstruct";
}

bool is_matrix(std::string_view name) {
  constexpr std::array<std::string_view, 4> names = {"scipy.sparse.csr csr_matrix", "scipy.sparse._csr csr_matrix",
                                                     "scipy.sparse.csr csr_array", "scipy.sparse._csr csr_array"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_text(const PickleValue& value) {
  return value.kind == Kind::text || value.kind == Kind::bytes;
}  // Python 2 wrote both as bytes

// Pickles of protocol 2 store bytes as text: each character is one byte.
std::string latin1_bytes(std::string_view text, const std::string& where) {
  std::string bytes;
  bytes.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      bytes += text[i];
      continue;
    }
    const bool pair =
        (first == 0xC2 || first == 0xC3) && i + 1 < text.size() && (static_cast<unsigned char>(text[i + 1]) & 0xC0) == 0x80;
    if (!pair) fail(where, "bytes written as text contain a character above 255");
    bytes += static_cast<char>((first & 3) << 6 | (static_cast<unsigned char>(text[++i]) & 0x3F));
  }
  return bytes;
}

// (version, shape, type, columns first, content)
void set_array(PickleValue& array, const PickleValue& state, const std::string& where) {
  const auto& parts = state.items;
  const bool right = state.kind == Kind::tuple && parts.size() == 5 && parts[1]->kind == Kind::tuple &&
                     parts[2]->kind == Kind::type && (parts[3]->kind == Kind::boolean || parts[3]->kind == Kind::integer);
  if (!right) fail(where, "an array in its pickle is not as numpy writes it");
  NumpyArray& content = array.array;
  content.type = parts[2]->array.type;
  content.fortran = parts[3]->integer != 0;
  content.shape.clear();
  if (parts[1]->items.size() > 32) fail(where, "an array in its pickle has more than 32 dimensions");
  for (const PickleValue* extent : parts[1]->items) {
    if (extent->kind != Kind::integer) fail(where, "an array in its pickle is not as numpy writes it");
    content.shape.push_back(extent->integer);
  }
  if (content.type.kind != 'O') {
    if (parts[4]->kind != Kind::bytes) fail(where, "an array in its pickle has no bytes");
    content.bytes = parts[4]->text;
    check_size(content, where);
    return;
  }
  if (parts[4]->kind != Kind::list) fail(where, "an array of objects in its pickle has no list");
  array.items = {parts[4]};
}

// (version, byte order, None, None, None, size, alignment, flags, …): None where records would be described.
void set_type(PickleValue& type, const PickleValue& state, const std::string& where) {
  const auto& parts = state.items;
  const bool plain = state.kind == Kind::tuple && parts.size() >= 5 && is_text(*parts[1]) && parts[2]->kind == Kind::none &&
                     parts[3]->kind == Kind::none && parts[4]->kind == Kind::none;
  if (!plain) fail(where, "an array in its pickle has records or no plain type");
  type.array.type.swapped = parts[1]->text == ">";
}

}  // namespace

void check_pickle_name(const std::string& name, const std::string& where) {
  if (is_reconstruct(name) || is_matrix(name) || name == "numpy ndarray" || name == "numpy dtype" || name == "_codecs encode")
    return;
  std::string dotted = name.substr(0, 200);
  std::replace(dotted.begin(), dotted.end(), ' ', '.');
  fail(where,
       fmt::format("its pickle asks for '{}', and only numpy arrays and scipy's csr_matrix are read; nothing in it was run",
                   dotted));
}

PickleValue call_pickle_name(const PickleValue& name, const PickleValue& arguments, std::string& text, const std::string& where) {
  const auto& given = arguments.items;
  PickleValue result;
  if (is_reconstruct(name.text) && given.size() == 3 && given[0]->kind == Kind::name && given[0]->text == "numpy ndarray") {
    result.kind = Kind::array;
    result.array.type.kind = 'O';  // until its state is set: no elements
  } else if (name.text == "numpy dtype" && !given.empty() && is_text(*given[0])) {
    result.kind = Kind::type;
    result.array.type = item_type(given[0]->text, where);
  } else if (name.text == "_codecs encode" && given.size() == 2 && given[0]->kind == Kind::text && is_text(*given[1]) &&
             (given[1]->text == "latin1" || given[1]->text == "latin-1")) {
    text = latin1_bytes(given[0]->text, where);
    result.kind = Kind::bytes;
  } else {
    fail(where, fmt::format("its pickle calls '{}' with arguments that numpy does not write", name.text));
  }
  return result;
}

void set_pickle_state(PickleValue& value, const PickleValue& state, const std::string& where) {
  if (value.kind == Kind::array) {
    set_array(value, state, where);
  } else if (value.kind == Kind::type) {
    set_type(value, state, where);
  } else if (value.kind == Kind::matrix && state.kind == Kind::dictionary) {
    value.items = {&state};
  } else {
    fail(where, fmt::format("its pickle gives {} a state", name_of(value.kind)));
  }
}

}  // namespace l0gm
