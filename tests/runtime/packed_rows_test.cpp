#include "runtime/packed_rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"

namespace l0gm {
namespace {

Matrix row_of(const std::vector<double>& values) {
  Matrix matrix(1, static_cast<int64_t>(values.size()));
  matrix.values = values;
  return matrix;
}

uint16_t bfloat16_of(double value) {
  uint16_t bits = 0;
  std::memcpy(&bits, round_matrix(row_of({value}), DType::bf16).elements.data(), sizeof(bits));
  return bits;
}

TEST(RoundMatrix, BfloatRoundsToNearestTiesToEven) {
  EXPECT_EQ(bfloat16_of(1.0), 0x3f80);
  EXPECT_EQ(bfloat16_of(-2.5), 0xc020);
  EXPECT_EQ(bfloat16_of(1.0 + 0x1p-8), 0x3f80);            // half way: to even, here down
  EXPECT_EQ(bfloat16_of(1.0 + 3 * 0x1p-8), 0x3f82);        // half way: to even, here up
  EXPECT_EQ(bfloat16_of(1.0 + 0x1p-8 + 0x1p-40), 0x3f81);  // beyond half way by less than float32 resolves
  EXPECT_EQ(bfloat16_of(1.0 + 3 * 0x1p-8 - 0x1p-40), 0x3f81);
  EXPECT_EQ(bfloat16_of(2.0 - 0x1p-9), 0x4000);  // carries into the exponent
  EXPECT_EQ(bfloat16_of(-0.0), 0x8000);
}

TEST(RoundMatrix, BfloatRoundsTheSmallestNumbersToo) {
  EXPECT_EQ(bfloat16_of(0x1p-126), 0x0080);
  EXPECT_EQ(bfloat16_of(0x1p-133), 0x0001);
  EXPECT_EQ(bfloat16_of(0x1p-134), 0x0000);
  EXPECT_EQ(bfloat16_of(3 * 0x1p-134), 0x0002);
  EXPECT_EQ(bfloat16_of(-0x1.8p-134), 0x8001);
}

TEST(RoundMatrix, BfloatIsNeverFurtherThanHalfAStep) {
  RandomStream random(3);
  for (int i = 0; i < 2000; ++i) {
    const double value = random.normal() * std::pow(10.0, 6 * random.uniform() - 3);
    const double rounded = std::bit_cast<float>(static_cast<uint32_t>(bfloat16_of(value)) << 16);
    EXPECT_LE(std::abs(rounded - value), std::ldexp(1.0, std::ilogb(value) - 8)) << value;
  }
}

TEST(RoundMatrix, Int8HasAScalePerRow) {
  Matrix matrix(3, 2);
  matrix.values = {127, -1.5, 0, 0, -0.5, 0.25};
  const RoundedMatrix rounded = round_matrix(matrix, DType::i8);
  EXPECT_EQ(rounded.scales, (std::vector<float>{1.0F, 1.0F, static_cast<float>(0.5 / 127)}));
  std::vector<int> elements;
  for (const std::byte element : rounded.elements) elements.push_back(static_cast<int8_t>(element));
  EXPECT_EQ(elements, (std::vector<int>{127, -2, 0, 0, -127, 64}));  // -1.5 and 63.5: to even
}

TEST(RoundMatrix, Int8StaysInRangeForAnyRoundingOfTheScale) {
  RandomStream random(4);
  for (int i = 0; i < 500; ++i) {
    const double largest = std::pow(10.0, 60 * random.uniform() - 45);
    const RoundedMatrix rounded = round_matrix(row_of({largest, -largest, largest / 2}), DType::i8);
    ASSERT_GT(rounded.scales[0], 0) << largest;
    EXPECT_EQ(static_cast<int8_t>(rounded.elements[0]), -static_cast<int8_t>(rounded.elements[1])) << largest;
    EXPECT_GE(static_cast<int8_t>(rounded.elements[0]), 0) << largest;
  }
}

TEST(RoundMatrix, FloatsAndDoublesAreCast) {
  const double third = 1.0 / 3;
  float single = 0;
  double whole = 0;
  std::memcpy(&single, round_matrix(row_of({third}), DType::f32).elements.data(), sizeof(single));
  std::memcpy(&whole, round_matrix(row_of({third}), DType::f64).elements.data(), sizeof(whole));
  EXPECT_EQ(single, 1.0F / 3);
  EXPECT_EQ(whole, third);
  EXPECT_THROW(round_matrix(row_of({third}), DType::i64), std::logic_error);
}

TEST(DtypeOf, NumbersAndExactArraysDoNotFollowTheWeights) {
  EXPECT_EQ(dtype_of(ArrayKind::weights, WeightType::float32), DType::f32);
  EXPECT_EQ(dtype_of(ArrayKind::weights, WeightType::bfloat16), DType::bf16);
  EXPECT_EQ(dtype_of(ArrayKind::weights, WeightType::int8), DType::i8);
  EXPECT_EQ(dtype_of(ArrayKind::numbers, WeightType::int8), DType::f32);
  EXPECT_EQ(dtype_of(ArrayKind::exact, WeightType::int8), DType::f64);
}

TEST(PackedRows, RowsAreAlignedPaddedWithZerosAndHoldTheirValues) {
  for (const DType type : {DType::f64, DType::f32, DType::bf16, DType::i8}) {
    for (const int64_t columns : {1, 7, 16, 17, 65}) {
      SCOPED_TRACE(std::string(name_of(type)) + " " + std::to_string(columns));
      Matrix matrix(3, columns);
      for (size_t e = 0; e < matrix.values.size(); ++e) matrix.values[e] = static_cast<double>(e % 120) - 50;
      const RoundedMatrix rounded = round_matrix(matrix, type);
      std::vector<std::byte> anywhere(rounded.elements.size() + 1);  // a file's tensor need not be aligned
      std::memcpy(anywhere.data() + 1, rounded.elements.data(), rounded.elements.size());
      const PackedRows rows(3, columns, type, anywhere.data() + 1, rounded.scales);
      const size_t row_bytes = static_cast<size_t>(rows.stride()) * size_of(type);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(rows.data()) % 64, 0u);
      EXPECT_EQ(row_bytes % 64, 0u);
      EXPECT_LT(row_bytes, static_cast<size_t>(columns) * size_of(type) + 64);
      EXPECT_EQ(rows.bytes(), 3 * row_bytes + rounded.scales.size() * sizeof(float));
      for (int64_t i = 0; i < 3; ++i) {
        const double step = type == DType::i8 ? static_cast<double>(rows.scales()[i]) : 0;
        for (int64_t j = 0; j < columns; ++j) EXPECT_NEAR(rows.value(i, j), matrix.at(i, j), step / 2 + 1e-6);
        const auto* bytes = static_cast<const std::byte*>(rows.data()) + static_cast<size_t>(i) * row_bytes;
        for (size_t b = static_cast<size_t>(columns) * size_of(type); b < row_bytes; ++b) EXPECT_EQ(bytes[b], std::byte{0});
      }
    }
  }
}

TEST(PackedRows, OfNoRowsOrColumnsHoldNothing) {
  const PackedRows none(0, 5, DType::f32, nullptr, {}), thin(5, 0, DType::f32, nullptr, {});
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(thin.bytes(), 0u);
  EXPECT_EQ(PackedRows().rows(), 0);
}

TEST(Pack, UnpackRestoresAPackedNet) {
  TableNet<Matrix> net;
  net.hidden = 3;
  net.columns.resize(1);
  net.columns[0].codes = 2;
  net.columns[0].units = 2;
  net.arrange();
  net.gate.present = true;
  net.gate.gates = 1;
  net.gate.threshold = 0.25;
  net.gate.gate_begin = {0, 1, 1};
  net.gate.gate_of_unit = {0};
  net.unit_tables.resize(1);
  RandomStream random(5);
  net.visit([&](const std::string&, Matrix& matrix, int64_t rows, int64_t columns, ArrayKind) {
    matrix = Matrix(rows, columns);
    for (double& value : matrix.values) value = random.normal();
  });
  const TableNet<PackedRows> packed = pack(net, WeightType::bfloat16);
  EXPECT_EQ(packed.wide.type(), DType::bf16);
  EXPECT_EQ(packed.base.type(), DType::f32);
  EXPECT_EQ(packed.unit_tables[0].type(), DType::f64);
  const TableNet<Matrix> back = unpack(packed);
  EXPECT_EQ(back.unit_tables[0].values, net.unit_tables[0].values);
  EXPECT_EQ(back.gate.map_out.values, net.gate.map_out.values);
  EXPECT_EQ(back.gate.threshold, 0.25);
  EXPECT_EQ(back.gate.gate_begin, net.gate.gate_begin);
  EXPECT_EQ(back.columns[0].unit_begin, 0);
  ASSERT_EQ(back.wide.values.size(), net.wide.values.size());
  for (size_t e = 0; e < back.wide.values.size(); ++e) {
    EXPECT_NEAR(back.wide.values[e], net.wide.values[e], std::abs(net.wide.values[e]) / 256);
    EXPECT_NE(back.wide.values[e], net.wide.values[e]);
  }
  net.output.columns = 2;
  EXPECT_THROW(pack(net, WeightType::float32), std::logic_error);
}

}  // namespace
}  // namespace l0gm
