#include "runtime/packed_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <stdexcept>

namespace l0gm {
namespace {

constexpr size_t alignment = 64;  // bytes; as wide as the widest vectors

float from_bfloat16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

// Directly from double: by way of float32 some numbers would be rounded twice, and wrongly.
uint16_t to_bfloat16(double value) {
  constexpr double least_normal = 0x1p-126, least_step = 0x1p-133;
  if (std::abs(value) < least_normal) {
    value = std::nearbyint(value / least_step) * least_step;
  } else {
    constexpr int dropped = 52 - 7;  // bits of a double's mantissa that a bfloat16 does not have
    uint64_t bits = std::bit_cast<uint64_t>(value);
    bits += (uint64_t{1} << (dropped - 1)) - 1 + ((bits >> dropped) & 1);  // half a step, one bit less where the last bit is even
    value = std::bit_cast<double>(bits & ~((uint64_t{1} << dropped) - 1));
  }
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
}

float scale_of(const double* row, int64_t columns) {
  double largest = 0;
  for (int64_t j = 0; j < columns; ++j) largest = std::max(largest, std::abs(row[j]));
  const auto scale = static_cast<float>(largest / 127);
  return scale > 0 ? scale : 1.0F;
}

template <class T>
void put(std::vector<std::byte>& elements, size_t index, T value) {
  std::memcpy(elements.data() + index * sizeof(T), &value, sizeof(T));
}

template <class From, class To>
void copy_gate(const NetGate<From>& from, NetGate<To>& to) {
  to.present = from.present;
  to.gates = from.gates;
  to.rank = from.rank;
  to.step = from.step;
  to.threshold = from.threshold;
  to.scale = from.scale;
  to.gamma = from.gamma;
  to.zeta = from.zeta;
  to.gate_begin = from.gate_begin;
  to.gate_of_unit = from.gate_of_unit;
}

// A net of the same shape whose arrays are still empty.
template <class To, class From>
TableNet<To> without_arrays(const TableNet<From>& from) {
  TableNet<To> to;
  to.members = from.members;
  to.outputs = from.outputs;
  to.hidden = from.hidden;
  to.shared = from.shared;
  to.columns = from.columns;
  to.statistic_slots = from.statistic_slots;
  to.units = from.units;
  to.grid_fields = from.grid_fields;
  to.grid_coordinates = from.grid_coordinates;
  to.unit_tables.resize(from.unit_tables.size());
  to.frequencies.resize(from.frequencies.size());
  to.layers.resize(from.layers.size());
  for (size_t k = 0; k < from.layers.size(); ++k) {
    to.layers[k].in = from.layers[k].in;
    to.layers[k].out = from.layers[k].out;
  }
  to.pairs.present = from.pairs.present;
  to.pairs.weighted = from.pairs.weighted;
  to.pairs.by_coordinate = from.pairs.by_coordinate;
  to.cin.present = from.cin.present;
  to.cin.maps = from.cin.maps;
  to.cin.weights.resize(from.cin.weights.size());
  to.cin.pooled.resize(from.cin.pooled.size());
  copy_gate(from.gate, to.gate);
  return to;
}

// The same net with each array turned into what make(array, rows, columns, kind) gives.
template <class To, class From, class Make>
TableNet<To> with_arrays(const TableNet<From>& from, const Make& make) {
  std::vector<To> arrays;
  from.visit([&](const std::string&, const From& array, int64_t rows, int64_t columns, ArrayKind kind) {
    arrays.push_back(make(array, rows, columns, kind));
  });
  TableNet<To> to = without_arrays<To>(from);
  size_t next = 0;
  to.visit([&](const std::string&, To& array, int64_t, int64_t, ArrayKind) { array = std::move(arrays[next++]); });
  return to;
}

}  // namespace

void PackedRows::Free::operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{alignment}); }

PackedRows::PackedRows(int64_t rows, int64_t columns, DType type, const void* elements, std::vector<float> scales)
    : rows_(rows), columns_(columns), type_(type), scales_(std::move(scales)) {
  const size_t size = size_of(type), used = static_cast<size_t>(columns) * size;
  const size_t row_bytes = (used + alignment - 1) / alignment * alignment;
  stride_ = static_cast<int64_t>(row_bytes / size);
  const size_t total = static_cast<size_t>(rows) * row_bytes;
  if (total == 0) return;
  bytes_.reset(static_cast<std::byte*>(::operator new[](total, std::align_val_t{alignment})));
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i) {
    std::byte* row = bytes_.get() + i * row_bytes;
    std::memcpy(row, static_cast<const std::byte*>(elements) + i * used, used);
    std::memset(row + used, 0, row_bytes - used);
  }
}

double PackedRows::value(int64_t i, int64_t j) const {
  switch (type_) {
    case DType::f64:
      return row<double>(i)[j];
    case DType::f32:
      return row<float>(i)[j];
    case DType::bf16:
      return from_bfloat16(row<uint16_t>(i)[j]);
    case DType::i8:
      return static_cast<double>(row<int8_t>(i)[j]) * static_cast<double>(scales_[static_cast<size_t>(i)]);
    default:
      throw std::logic_error("rows of a net are f64, f32, bf16 or i8");
  }
}

size_t PackedRows::bytes() const {
  return static_cast<size_t>(rows_) * static_cast<size_t>(stride_) * size_of(type_) + scales_.size() * sizeof(float);
}

DType dtype_of(ArrayKind kind, WeightType weights) {
  if (kind == ArrayKind::exact) return DType::f64;
  if (kind == ArrayKind::numbers || weights == WeightType::float32) return DType::f32;
  return weights == WeightType::bfloat16 ? DType::bf16 : DType::i8;
}

RoundedMatrix round_matrix(const Matrix& matrix, DType type) {
  RoundedMatrix rounded;
  rounded.type = type;
  rounded.elements.resize(matrix.values.size() * size_of(type));
  if (type == DType::i8) {
    for (int64_t i = 0; i < matrix.rows; ++i) rounded.scales.push_back(scale_of(matrix.row(i), matrix.columns));
  }
  for (size_t e = 0; e < matrix.values.size(); ++e) {
    const double value = matrix.values[e];
    switch (type) {
      case DType::f64:
        put(rounded.elements, e, value);
        break;
      case DType::f32:
        put(rounded.elements, e, static_cast<float>(value));
        break;
      case DType::bf16:
        put(rounded.elements, e, to_bfloat16(value));
        break;
      case DType::i8: {
        const auto scale = static_cast<double>(rounded.scales[e / static_cast<size_t>(matrix.columns)]);
        put(rounded.elements, e, static_cast<int8_t>(std::clamp(std::nearbyint(value / scale), -127.0, 127.0)));
        break;
      }
      default:
        throw std::logic_error("a net is rounded to f64, f32, bf16 or i8");
    }
  }
  return rounded;
}

PackedRows pack(const RoundedMatrix& rounded, int64_t rows, int64_t columns) {
  return PackedRows(rows, columns, rounded.type, rounded.elements.data(), rounded.scales);
}

TableNet<PackedRows> pack(const TableNet<Matrix>& net, WeightType weights) {
  return with_arrays<PackedRows>(net, [&](const Matrix& matrix, int64_t rows, int64_t columns, ArrayKind kind) {
    if (matrix.rows != rows || matrix.columns != columns)
      throw std::logic_error("an array of the net does not have the shape that the net asks for");
    return pack(round_matrix(matrix, dtype_of(kind, weights)), rows, columns);
  });
}

TableNet<Matrix> unpack(const TableNet<PackedRows>& net) {
  return with_arrays<Matrix>(net, [](const PackedRows& packed, int64_t rows, int64_t columns, ArrayKind) {
    Matrix matrix(rows, columns);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) matrix.at(i, j) = packed.value(i, j);
    }
    return matrix;
  });
}

}  // namespace l0gm
