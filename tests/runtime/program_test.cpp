#include "runtime/program.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>

#include "runtime/random_net.h"
#include "runtime/reference_logits.h"

namespace l0gm {
namespace {

using Kind = NetColumn::Kind;

constexpr int64_t most_rows_of_a_batch = 37;
constexpr uint64_t random_nets = 160;

// Sums of magnitudes, to which rounding errors are relative.
std::vector<double> magnitudes(TableNet<Matrix> net, const int32_t* codes, const float* slopes, int64_t slots) {
  net.visit([](const std::string& name, Matrix& matrix, int64_t, int64_t, ArrayKind) {
    if (name.ends_with("frequencies"))
      std::fill(matrix.values.begin(), matrix.values.end(), 0.125);  // sine and cosine: both positive
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

// A workspace filled with NaN, with guard bytes after it.
class Workspace {
 public:
  explicit Workspace(size_t bytes) : bytes_(bytes), memory_(new(std::align_val_t{64}) std::byte[bytes + guard]) {
    std::memset(memory_.get(), 0xff, bytes + guard);
  }
  std::byte* data() { return memory_.get(); }
  bool guard_is_intact() const {
    return std::all_of(memory_.get() + bytes_, memory_.get() + bytes_ + guard,
                       [](std::byte byte) { return byte == std::byte{0xff}; });
  }

 private:
  static constexpr size_t guard = 256;
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
  program.logits(rows.codes_of(begin), rows.code_stride, rows.slopes_of(begin), rows.slope_stride, count, out.data(),
                 workspace.data());
  EXPECT_TRUE(workspace.guard_is_intact());
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

// Repeats the rows of a matrix, one set for each member.
Matrix repeated(const Matrix& matrix, int64_t members) {
  Matrix all(matrix.rows * members, matrix.columns);
  for (int64_t m = 0; m < members; ++m)
    std::copy(matrix.values.begin(), matrix.values.end(), all.values.begin() + m * matrix.rows * matrix.columns);
  return all;
}

// The same net with separate members: shared weights times each member's vectors, shared logits once for each member.
TableNet<Matrix> members_written_out(const TableNet<Matrix>& net) {
  TableNet<Matrix> out = net;
  out.shared = false;
  const int64_t rows = out.arrange(), folded = net.wide.rows, columns = out.wide_columns(), first = out.first_logit();
  const auto spread = [&](const Matrix& from, int64_t row, Matrix& to) {  // an accumulator: its logits are every member's
    std::copy_n(from.row(row), first, to.row(row));
    for (int64_t l = 0; l < out.logits(); ++l) to.at(row, first + l) = from.at(row, first + l % net.outputs);
  };
  out.base = Matrix(1, columns);
  spread(net.base, 0, out.base);
  for (int64_t l = 0; l < out.logits(); ++l) out.base.at(0, first + l) += net.output_bias.at(0, l);
  out.wide = Matrix(rows, columns);
  for (int64_t row = 0; row < folded; ++row) spread(net.wide, row, out.wide);
  for (int64_t u = 0; u < net.dense_units(); ++u) {
    for (int64_t m = 0; m < net.members; ++m) {
      for (int64_t h = 0; h < net.hidden; ++h)
        out.wide.at(folded + u, m * net.hidden + h) =
            net.first.in_factors.at(m, u) * net.first.weights.at(u, h) * net.first.out_factors.at(m, h);
    }
    for (int64_t l = 0; l < out.logits(); ++l) out.wide.at(folded + u, first + l) = net.first.terms.at(l % net.outputs, u);
  }
  for (size_t k = 0; k < net.layers.size(); ++k) {
    const NetLayer<Matrix>& layer = net.layers[k];
    Matrix& weights = out.layers[k].weights = Matrix(net.members * layer.in, layer.out);
    for (int64_t m = 0; m < net.members; ++m) {
      for (int64_t i = 0; i < layer.in; ++i) {
        for (int64_t o = 0; o < layer.out; ++o)
          weights.at(m * layer.in + i, o) = layer.in_factors.at(m, i) * layer.weights.at(i, o) * layer.out_factors.at(m, o);
      }
    }
  }
  out.pairs.weights = repeated(net.pairs.weights, net.members);
  out.pairs.coordinates = repeated(net.pairs.coordinates, net.members);
  for (Matrix& pooled : out.cin.pooled) pooled = repeated(pooled, net.members);
  out.cin.last = repeated(net.cin.last, net.members);
  return out;
}

// Every row equals the reference, and has the same bits in a batch of any size.
void check_program(const TableProgram& program, const Rows& rows, const Expected& expected) {
  const std::vector<float> all = run(program, rows, 0, most_rows_of_a_batch);
  for (size_t i = 0; i < all.size(); ++i) ASSERT_NEAR(all[i], expected.logits[i], expected.tolerance[i]) << i;
  const int64_t logits = program.net().logits();
  for (const int64_t batch : {1, 3, 16}) {
    for (int64_t begin = 0; begin + batch <= most_rows_of_a_batch; begin += batch) {
      ASSERT_TRUE(same_bits(run(program, rows, begin, batch), all.data() + begin * logits))
          << "batch " << batch << " from " << begin;
    }
  }
}

TEST(TableProgram, RandomNetsHaveEverything) {
  constexpr size_t traits = 15;
  std::array<int, traits> counts{};
  for (uint64_t seed = 0; seed < random_nets; ++seed) {
    const TableNet<Matrix> net = RandomNet(seed).net;
    const bool units = !net.units.empty(), fields = net.grid_fields > 1;
    const std::array<bool, traits> has = {
        net.gate.present && units,
        net.gate.present && units && net.gate.step,
        net.gate.present && units && net.gate.rank > 0,
        net.pairs.present && fields && !net.pairs.weighted && !net.pairs.by_coordinate,
        net.pairs.weighted && fields,
        net.cin.maps.size() == 2 && fields,
        net.layers.size() == 2,
        net.hidden == 0,
        !net.frequencies.empty(),
        !net.shared && net.hidden > 0 && net.layers.empty() && net.logits() <= 4,
        net.columns.empty(),
        net.shared && net.members > 16 && net.layers.size() == 2 && net.dense_units() > 0,
        net.shared && net.wide.rows > 0 && net.dense_units() > 0,
        net.shared && net.wide.rows > 0 && net.dense_units() == 0,
        net.shared && net.cin.present && fields && net.outputs > 1,
    };
    for (size_t t = 0; t < traits; ++t) counts[t] += has[t] ? 1 : 0;
  }
  for (size_t t = 0; t < traits; ++t) EXPECT_GE(counts[t], 3) << "trait " << t;
}

void check_all_sets(RandomNet& random) {
  const Rows rows = random.rows(most_rows_of_a_batch);
  for (const WeightType weights : {WeightType::float32, WeightType::bfloat16, WeightType::int8}) {
    const Expected expected = expected_of(unpack(pack(random.net, weights)), rows, most_rows_of_a_batch);
    for (const InstructionSet set : usable_instruction_sets()) {
      SCOPED_TRACE(testing::Message() << name_of_enum(weights) << ", " << name_of_enum(set));
      ASSERT_NO_FATAL_FAILURE(check_program(TableProgram(pack(random.net, weights), set), rows, expected));
    }
  }
}

TEST(TableProgram, MatchesTheReferenceForEveryShapeTypeAndInstructionSet) {
  for (uint64_t seed = 0; seed < random_nets; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    RandomNet random(seed);
    ASSERT_NO_FATAL_FAILURE(check_all_sets(random));
  }
}

TEST(TableProgram, WideNetsAreComputedInSeveralChunks) {
  for (const int64_t hidden : {150, 300, 515}) {
    for (const int64_t members : {1, 2, 5}) {  // with one and two members the logits are computed with the sums
      SCOPED_TRACE(testing::Message() << hidden << " hidden units, " << members << " members");
      RandomNet random(7);
      random.net.shared = false;
      random.net.arrange();
      random.net.hidden = hidden;
      random.net.members = members;
      random.net.outputs = 1;
      random.net.layers.clear();
      random.fill_arrays();
      ASSERT_NO_FATAL_FAILURE(check_all_sets(random));
    }
  }
}

// A batch ensemble is the net whose members have the shared weights times their vectors as their own.
TEST(TableProgram, ABatchEnsembleEqualsMembersWrittenOut) {
  for (uint64_t seed = 0; seed < random_nets; ++seed) {
    RandomNet random(seed);
    const TableNet<Matrix>& net = random.net;
    if (!net.shared || net.gate.present || net.dense_units() == 0) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const TableNet<Matrix> written_out = members_written_out(net);
    const Rows rows = random.rows(most_rows_of_a_batch);
    std::vector<double> shared(static_cast<size_t>(net.logits())), wanted(shared.size());
    for (int64_t r = 0; r < most_rows_of_a_batch; ++r) {
      reference_logits(net, rows.codes_of(r), rows.slopes_of(r), shared.data());
      reference_logits(written_out, rows.codes_of(r), rows.slopes_of(r), wanted.data());
      for (size_t l = 0; l < wanted.size(); ++l) ASSERT_NEAR(shared[l], wanted[l], 1e-9 * (1 + std::abs(wanted[l])));
    }
  }
}

TEST(TableProgram, AnyNumberOfColumnsMayHaveADirection) {
  for (const int64_t columns : {31, 32, 33, 70}) {
    SCOPED_TRACE(testing::Message() << columns << " columns");
    RandomNet random(11);
    TableNet<Matrix> net;
    net.hidden = 5;
    for (int64_t c = 0; c < columns; ++c) {
      NetColumn& column = net.columns.emplace_back();
      column.kind = Kind::number;
      column.value_slot = c;
      column.bins = 3;
      column.folded = true;
    }
    net.arrange();
    random.net = net;
    random.slots = columns;
    random.fill_arrays();
    ASSERT_NO_FATAL_FAILURE(check_all_sets(random));
  }
}

// One folded column of three codes, two hidden units: small enough to compute by hand.
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

TEST(TableProgram, ATinyNetEqualsTheHandComputedValues) {
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

TEST(TableProgram, NoRowsAreAllowed) {
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
