#include "runtime/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "base/random.h"

namespace l0gm {
namespace {

using Kind = NetColumn::Kind;

constexpr int64_t most_rows_of_a_batch = 37;

// Encoded rows of made-up columns, with room between them that must not matter.
struct Rows {
  int64_t code_stride = 0, slope_stride = 0;
  std::vector<int32_t> codes;
  std::vector<float> slopes;
  const int32_t* codes_of(int64_t r) const { return codes.data() + r * code_stride; }
  const float* slopes_of(int64_t r) const { return slopes.data() + r * slope_stride; }
};

struct RandomNet {
  TableNet<Matrix> net;
  int64_t slots = 0;  // of codes; slopes have those of the statistics behind them

  RandomNet(uint64_t seed) : random_(seed) {
    add_columns();
    add_heads();
    const bool grid = net.pairs.present || net.cin.present;
    choose_units(grid);
    net.arrange();
    if (grid) place_units();
    if (net.gate.present) tie_gates();
    for (const NetColumn& column : net.columns) {
      if (column.units > 0) net.unit_tables.emplace_back();
      if (column.waves > 0) net.frequencies.emplace_back();
    }
    net.visit([&](const std::string&, Matrix& matrix, int64_t rows, int64_t columns, ArrayKind) {
      matrix = Matrix(rows, columns);
      for (double& value : matrix.values) value = random_.normal() * 0.5;
    });
  }

  Rows rows(int64_t count) {
    Rows rows;
    rows.code_stride = slots + 2;
    rows.slope_stride = slots + static_cast<int64_t>(net.statistic_slots.size()) + 1;
    rows.codes.assign(static_cast<size_t>(count * rows.code_stride), -1);
    rows.slopes.assign(static_cast<size_t>(count * rows.slope_stride), NAN);
    for (int64_t r = 0; r < count; ++r) {
      int32_t* codes = rows.codes.data() + r * rows.code_stride;
      float* slopes = rows.slopes.data() + r * rows.slope_stride;
      for (const NetColumn& column : net.columns) fill(column, codes, slopes);
      for (const int64_t slot : net.statistic_slots) slopes[slot] = below(5) == 0 ? 0.0F : static_cast<float>(random_.normal());
    }
    return rows;
  }

 private:
  int64_t below(int64_t count) { return static_cast<int64_t>(random_.below(static_cast<uint64_t>(count))); }
  bool flip() { return below(2) == 0; }

  void add_columns() {
    const int64_t count = below(8);
    for (int64_t c = 0; c < count; ++c) {
      NetColumn column;
      column.column = c;
      column.kind = static_cast<Kind>(below(3));
      if (column.kind == Kind::number) {
        column.value_slot = slots++;
        column.bins = 1 + below(4);
        if (flip()) {
          column.code_slot = slots++;
          column.known = below(6);
        }
        if (below(4) == 0) {
          column.bins = 1;
          column.waves = 2 * (1 + below(4));
        }
      } else {
        column.slots = column.kind == Kind::several ? 1 + below(4) : 1;
        column.code_slot = slots;
        column.codes = 2 + below(9);
        slots += column.slots;
      }
      net.columns.push_back(column);
    }
    for (int64_t s = below(3); s > 0; --s) net.statistic_slots.push_back(slots + s - 1);  // in any order
  }

  void add_heads() {
    net.members = flip() ? 1 : 3;
    net.outputs = flip() ? 1 : 4;
    const std::vector<int64_t> widths = {0, 1, 5, 16, 31, 64, 70};
    net.hidden = widths[static_cast<size_t>(below(static_cast<int64_t>(widths.size())))];
    int64_t before = net.hidden;
    for (int64_t k = net.hidden > 0 ? below(3) : 0; k > 0; --k) {
      NetLayer<Matrix>& layer = net.layers.emplace_back();
      layer.in = before;
      layer.out = before = 1 + below(75);
    }
    net.pairs.present = below(3) == 0;
    net.pairs.weighted = net.pairs.present && flip();
    net.pairs.by_coordinate = net.pairs.present && flip();
    net.cin.present = below(3) == 0;
    for (int64_t k = net.cin.present ? below(3) : 0; k > 0; --k) net.cin.maps.push_back(1 + below(20));
    net.cin.weights.resize(net.cin.maps.size());
    net.cin.pooled.resize(net.cin.maps.size());
    if (net.pairs.present || net.cin.present) net.grid_coordinates = 1 + below(20);
    net.gate.present = below(4) == 0;
  }

  // On a grid a column has as many units as there are coordinates, at most.
  void choose_units(bool grid) {
    for (NetColumn& column : net.columns) {
      column.folded = below(4) != 0;
      const bool key_only = below(8) == 0;
      if (key_only) column.folded = false;
      if (!key_only && (!column.folded || grid)) column.units = grid ? 1 + below(net.grid_coordinates) : 1 + below(20);
    }
  }

  void place_units() {
    for (const NetColumn& column : net.columns) {
      if (column.units == 0) continue;
      const int64_t first = below(net.grid_coordinates - column.units + 1);  // some coordinates of a field are closed
      for (int64_t u = 0; u < column.units; ++u) {
        net.units[static_cast<size_t>(column.unit_begin + u)].place = net.grid_fields * net.grid_coordinates + first + u;
      }
      ++net.grid_fields;
    }
  }

  void tie_gates() {
    NetGate<Matrix>& gate = net.gate;
    gate.gates = 1 + below(6);
    gate.rank = flip() ? 0 : 1 + below(3);
    gate.step = flip();
    gate.threshold = 0.1;
    gate.scale = 0.7;
    gate.gate_begin = {0};
    for (size_t u = 0; u < net.units.size(); ++u) {
      for (int64_t g = below(4); g > 0; --g) gate.gate_of_unit.push_back(below(gate.gates));
      gate.gate_begin.push_back(static_cast<int64_t>(gate.gate_of_unit.size()));
    }
  }

  void fill(const NetColumn& column, int32_t* codes, float* slopes) {
    if (column.kind == Kind::number) {
      const bool missing = below(6) == 0;
      codes[column.value_slot] = missing ? 0 : static_cast<int32_t>(1 + below(column.bins));
      slopes[column.value_slot] = missing ? 0 : static_cast<float>(random_.normal());
      if (column.code_slot < 0) return;
      codes[column.code_slot] = missing ? 0 : static_cast<int32_t>(1 + below(column.known + 1));
      slopes[column.code_slot] = 0;
      return;
    }
    const int64_t used = column.kind == Kind::several ? 1 + below(column.slots) : 1;
    for (int64_t s = 0; s < column.slots; ++s) {
      codes[column.code_slot + s] = s < used ? static_cast<int32_t>(below(column.codes)) : 0;
      slopes[column.code_slot + s] = column.kind == Kind::several && s < used ? 1.0F / static_cast<float>(used) : 0.0F;
    }
  }

  RandomStream random_;
};

// Sums of magnitudes: what rounding errors are measured by.
std::vector<double> magnitudes(TableNet<Matrix> net, const int32_t* codes, const float* slopes, int64_t slots) {
  net.visit([](const std::string& name, Matrix& matrix, int64_t, int64_t, ArrayKind) {
    if (name.ends_with("frequencies")) std::fill(matrix.values.begin(), matrix.values.end(), 0.125);  // sine and cosine: both positive
    for (double& value : matrix.values) value = std::abs(value);
  });
  net.gate.present = false;
  std::vector<float> sizes;
  for (int64_t s = 0; s < slots; ++s) sizes.push_back(std::abs(slopes[s]));
  for (const NetColumn& column : net.columns) {
    if (column.waves > 0) sizes[static_cast<size_t>(column.value_slot)] = 1;
  }
  std::vector<double> logits(static_cast<size_t>(net.logits()));
  reference_logits(net, codes, sizes.data(), logits.data());
  return logits;
}

// A workspace full of NaN with a fence behind it.
class Workspace {
 public:
  explicit Workspace(size_t bytes) : bytes_(bytes), memory_(new (std::align_val_t{64}) std::byte[bytes + fence]) {
    std::memset(memory_.get(), 0xff, bytes + fence);
  }
  std::byte* data() { return memory_.get(); }
  bool fence_stands() const {
    return std::all_of(memory_.get() + bytes_, memory_.get() + bytes_ + fence, [](std::byte byte) { return byte == std::byte{0xff}; });
  }

 private:
  static constexpr size_t fence = 256;
  struct Free {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, std::align_val_t{64}); }
  };
  size_t bytes_;
  std::unique_ptr<std::byte[], Free> memory_;
};

std::vector<float> run(const TableProgram& program, const Rows& rows, int64_t begin, int64_t count) {
  Workspace workspace(program.workspace_bytes());
  const int64_t logits = program.net().logits();
  std::vector<float> out(static_cast<size_t>(count * logits + 1), -7.5F);
  program.logits(rows.codes_of(begin), rows.code_stride, rows.slopes_of(begin), rows.slope_stride, count, out.data(), workspace.data());
  EXPECT_TRUE(workspace.fence_stands());
  EXPECT_EQ(out.back(), -7.5F);
  out.pop_back();
  return out;
}

bool same_bits(const std::vector<float>& a, const float* b) { return std::memcmp(a.data(), b, a.size() * sizeof(float)) == 0; }

struct Expected {
  std::vector<double> logits, tolerance;
};

Expected expected_of(const TableNet<Matrix>& net, const Rows& rows, int64_t count) {
  Expected expected;
  std::vector<double> logits(static_cast<size_t>(net.logits()));
  for (int64_t r = 0; r < count; ++r) {
    reference_logits(net, rows.codes_of(r), rows.slopes_of(r), logits.data());
    const std::vector<double> sizes = magnitudes(net, rows.codes_of(r), rows.slopes_of(r), rows.slope_stride);
    expected.logits.insert(expected.logits.end(), logits.begin(), logits.end());
    for (const double size : sizes) expected.tolerance.push_back(2e-6 * (size + 1e-3));
  }
  return expected;
}

// Every row as the reference has it, and the same bits in a batch of any size.
void check_program(const TableProgram& program, const Rows& rows, const Expected& expected) {
  const std::vector<float> all = run(program, rows, 0, most_rows_of_a_batch);
  for (size_t i = 0; i < all.size(); ++i) ASSERT_NEAR(all[i], expected.logits[i], expected.tolerance[i]) << i;
  const int64_t logits = program.net().logits();
  for (const int64_t batch : {1, 3, 16}) {
    for (int64_t begin = 0; begin + batch <= most_rows_of_a_batch; begin += batch) {
      ASSERT_TRUE(same_bits(run(program, rows, begin, batch), all.data() + begin * logits)) << "batch " << batch << " from " << begin;
    }
  }
}

TEST(TableProgram, MatchesTheReferenceForEveryShapeTypeAndInstructionSet) {
  for (uint64_t seed = 0; seed < 160; ++seed) {
    RandomNet random(seed);
    const Rows rows = random.rows(most_rows_of_a_batch);
    for (const WeightType weights : {WeightType::float32, WeightType::bfloat16, WeightType::int8}) {
      const Expected expected = expected_of(unpack(pack(random.net, weights)), rows, most_rows_of_a_batch);
      for (const InstructionSet set : usable_instruction_sets()) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", " << name_of_enum(weights) << ", " << name_of_enum(set));
        ASSERT_NO_FATAL_FAILURE(check_program(TableProgram(pack(random.net, weights), set), rows, expected));
      }
    }
  }
}

TEST(TableProgram, RandomNetsHaveEverything) {
  int64_t gated = 0, steps = 0, low_rank = 0, plain_pairs = 0, deep_cin = 0, deep = 0, without_hidden = 0, waves = 0, fused = 0, no_columns = 0;
  for (uint64_t seed = 0; seed < 160; ++seed) {
    const TableNet<Matrix> net = RandomNet(seed).net;
    gated += net.gate.present && !net.units.empty();
    steps += net.gate.present && net.gate.step;
    low_rank += net.gate.present && net.gate.rank > 0;
    plain_pairs += net.pairs.present && !net.pairs.weighted && !net.pairs.by_coordinate && net.grid_fields > 1;
    deep_cin += net.cin.maps.size() == 2 && net.grid_fields > 1;
    deep += net.layers.size() == 2;
    without_hidden += net.hidden == 0;
    waves += !net.frequencies.empty();
    fused += net.hidden > 0 && net.layers.empty() && net.logits() <= 4;
    no_columns += net.columns.empty();
  }
  for (const int64_t count : {gated, steps, low_rank, plain_pairs, deep_cin, deep, without_hidden, waves, fused, no_columns}) EXPECT_GE(count, 5);
}

TEST(TableProgram, WideNetsGoThroughInSeveralChunks) {
  for (const int64_t hidden : {150, 300, 515}) {
    RandomNet random(7);
    TableNet<Matrix> net = std::move(random.net);
    net.hidden = hidden;
    net.layers.clear();
    RandomStream numbers(8);
    net.visit([&](const std::string&, Matrix& matrix, int64_t rows, int64_t columns, ArrayKind) {
      matrix = Matrix(rows, columns);
      for (double& value : matrix.values) value = numbers.normal();
    });
    random.net = net;
    const Rows rows = random.rows(most_rows_of_a_batch);
    const Expected expected = expected_of(unpack(pack(net, WeightType::float32)), rows, most_rows_of_a_batch);
    for (const InstructionSet set : usable_instruction_sets()) {
      SCOPED_TRACE(testing::Message() << hidden << ", " << name_of_enum(set));
      ASSERT_NO_FATAL_FAILURE(check_program(TableProgram(pack(net, WeightType::float32), set), rows, expected));
    }
  }
}

// One folded column of three codes, two hidden units, worked out by hand.
TableNet<Matrix> tiny_net() {
  TableNet<Matrix> net;
  net.hidden = 2;
  net.columns.resize(1);
  net.columns[0].code_slot = 0;
  net.columns[0].codes = 3;
  net.columns[0].folded = true;
  net.arrange();
  net.base = Matrix(1, 3);
  net.base.values = {1, -1, 0.5};
  net.wide = Matrix(3, 3);
  net.wide.values = {0, 0, 0, 2, 2, 0, -4, 0, 0.25};
  net.output = Matrix(1, 2);
  net.output.values = {1, 8};
  return net;
}

TEST(TableProgram, ATinyNetGivesWhatTheHandGives) {
  Rows rows;
  rows.code_stride = 1;
  rows.codes = {0, 1, 2};
  rows.slopes = {0};
  for (const InstructionSet set : usable_instruction_sets()) {
    const TableProgram program(pack(tiny_net(), WeightType::float32), set);
    EXPECT_EQ(program.instructions(), set);
    EXPECT_EQ(run(program, rows, 0, 3), (std::vector<float>{1.5F, 0.5F + 3 + 8, 0.75F})) << name_of_enum(set);
  }
}

TEST(TableProgram, NoRowsAreNoWork) {
  const TableProgram program(pack(tiny_net(), WeightType::float32));
  program.logits(nullptr, 0, nullptr, 0, 0, nullptr, Workspace(program.workspace_bytes()).data());
}

TEST(TableProgram, CanBeMoved) {
  Rows rows;
  rows.code_stride = 1;
  rows.codes = {1};
  rows.slopes = {0};
  TableProgram program(pack(tiny_net(), WeightType::int8));
  const std::vector<float> before = run(program, rows, 0, 1);
  const TableProgram moved = std::move(program);
  EXPECT_EQ(run(moved, rows, 0, 1), before);
}

TEST(TableProgram, AnArrayOfAnotherShapeIsRefused) {
  TableNet<PackedRows> net = pack(tiny_net(), WeightType::float32);
  net.hidden = 3;
  EXPECT_THROW(TableProgram{std::move(net)}, std::logic_error);
}

TEST(UsableInstructionSets, EndWithThePlainOne) {
  const std::vector<InstructionSet> sets = usable_instruction_sets();
  ASSERT_FALSE(sets.empty());
  EXPECT_EQ(sets.back(), InstructionSet::plain);
  EXPECT_TRUE(std::is_sorted(sets.begin(), sets.end()));
#if defined(__x86_64__)
  EXPECT_EQ(std::count(sets.begin(), sets.end(), InstructionSet::avx2), __builtin_cpu_supports("avx2") ? 1 : 0);
  EXPECT_EQ(std::count(sets.begin(), sets.end(), InstructionSet::neon), 0);
#endif
}

}  // namespace
}  // namespace l0gm
