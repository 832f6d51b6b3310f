#include "data/table/perturb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/csv.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

constexpr int64_t row_count = 4000;
const std::vector<std::string> names = {"age", "left_out", "weight", "y", "colour", "town", "tags"};

Perturbation condition(const std::string& name) {
  for (const Perturbation& perturbation : perturbations()) {
    if (perturbation.name == name) return perturbation;
  }
  ADD_FAILURE() << "no condition " << name;
  return {};
}

// Whole numbers 17 … 90, a real column of deviation 2, texts; label and a column that is not used between them.
Schema schema() {
  Schema schema;
  schema.label = "y";
  schema.classes = {"no", "yes"};
  schema.missing_marks = default_missing_marks;
  Column age{"age", ColumnType::numeric, 17, 90, 20, true, 0, {"-"}},
      weight{"weight", ColumnType::numeric, -3.5, 6.5, 2, false, 0, {}};
  Column colour{"colour", ColumnType::categorical, 0, 0, 0, false, 0, {}}, town = colour, tags = colour;
  town.name = "town";
  tags.name = "tags";
  tags.type = ColumnType::multi;
  schema.columns = {age, weight, colour, town, tags};
  return schema;
}

TextTable table() {
  TextTable result(names);
  for (int64_t row = 0; row < row_count; ++row) {
    const std::string age = row == 7    ? "?"
                            : row == 8  ? "old"
                            : row == 9  ? "-"
                            : row == 10 ? "inf"
                                        : std::to_string(17 + row * 31 % 74);
    const std::string weight = shortest(-3.5 + 0.001 * static_cast<double>(row * 7 % 10001)), town = std::to_string(row % 2);
    result.add_row({age, "1.5", weight, row % 3 == 0 ? "yes" : "no", row % 2 == 0 ? "red, blue" : "green", town, "a|b"});
  }
  return result;
}

std::vector<int64_t> all_rows() {
  std::vector<int64_t> rows(row_count);
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

class Perturb : public testing::Test {
 protected:
  std::string write(const std::string& name, uint64_t seed = 3, const std::vector<int64_t>& rows = all_rows()) {
    const Perturber perturber(schema(), names, condition(name), seed);
    return write_numbered_rows(table_, rows, file_, &perturber);
  }
  TextTable copy(const std::string& name, uint64_t seed = 3, const std::vector<int64_t>& rows = all_rows()) {
    write(name, seed, rows);
    return read_csv(file_, {});
  }
  // A cell of the copy; its columns are one further on, behind `row`.
  static std::string_view cell(const TextTable& copy, int64_t row, const std::string& column) {
    return copy.cell(row, copy.column(column));
  }
  std::string_view before(int64_t row, const std::string& column) const { return table_.cell(row, table_.column(column)); }
  int64_t changed(const TextTable& copy, const std::string& column) const {
    int64_t count = 0;
    for (int64_t row = 0; row < row_count; ++row) count += cell(copy, row, column) != before(row, column) ? 1 : 0;
    return count;
  }
  const TextTable table_ = table();
  const TemporaryFolder folder_;
  const fs::path file_ = folder_.path() / "deep" / "copy.csv";
};

TEST_F(Perturb, TheTwelveConditions) {
  std::vector<std::string> found;
  for (const Perturbation& perturbation : perturbations()) found.push_back(perturbation.name);
  EXPECT_EQ(found,
            (std::vector<std::string>{"missing-0.1", "missing-0.3", "missing-0.5", "noise-0.05", "noise-0.1", "noise-0.2",
                                      "quantise-8", "quantise-6", "quantise-4", "occlude-0.1", "occlude-0.2", "occlude-0.3"}));
}

TEST_F(Perturb, WithoutAPerturberRowsAreAsTheyWere) {
  const std::string sha256 = write_numbered_rows(table_, {5, 2}, file_);
  EXPECT_EQ(
      read_file(file_),
      "row,age,left_out,weight,y,colour,town,tags\n5,24,1.5,-3.465,no,green,1,a|b\n2,79,1.5,-3.486,no,\"red, blue\",0,a|b\n");
  EXPECT_EQ(sha256, sha256_file(file_));
}

TEST_F(Perturb, MissingCellsAreTheShareAskedFor) {
  for (const double share : {0.1, 0.3, 0.5}) {
    const TextTable damaged = copy("missing-" + shortest(share));
    for (const char* column : {"age", "weight", "colour", "town", "tags"}) {
      int64_t empty = 0;
      for (int64_t row = 0; row < row_count; ++row) {
        const std::string_view text = cell(damaged, row, column);
        empty += text.empty() ? 1 : 0;
        ASSERT_TRUE(text.empty() || text == before(row, column)) << text;
      }
      const double deviation = std::sqrt(share * (1 - share) * row_count);
      EXPECT_NEAR(static_cast<double>(empty), share * row_count, 4.5 * deviation) << column << " " << share;
    }
  }
}

TEST_F(Perturb, CellsOfARowAreEmptiedIndependently) {
  const TextTable damaged = copy("missing-0.5");
  int64_t both = 0;
  for (int64_t row = 0; row < row_count; ++row)
    both += cell(damaged, row, "colour").empty() && cell(damaged, row, "town").empty() ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(both), 0.25 * row_count, 4.5 * std::sqrt(0.25 * 0.75 * row_count));
}

TEST_F(Perturb, DrawsDependOnTheRowAndNotOnItsNeighbours) {
  for (const char* name : {"missing-0.3", "noise-0.1", "occlude-0.2"}) {
    const TextTable whole = copy(name);
    const std::vector<int64_t> some = {3999, 12, 700, 11, 13};
    const TextTable few = copy(name, 3, some);
    ASSERT_EQ(few.rows(), 5);
    for (size_t i = 0; i < some.size(); ++i) {
      for (int64_t column = 0; column < whole.columns(); ++column) {
        EXPECT_EQ(few.cell(static_cast<int64_t>(i), column), whole.cell(some[i], column)) << name << " row " << some[i];
      }
    }
  }
}

TEST_F(Perturb, DrawsDoNotDependOnWhichOtherColumnsThereAre) {
  const TextTable whole = copy("noise-0.2");
  Schema fewer = schema();
  fewer.columns = {fewer.columns[1]};
  const Perturber perturber(fewer, {"weight"}, condition("noise-0.2"), 3);
  for (const int64_t row : {0, 1, 2, 3000}) {
    std::vector<std::string> cells = {std::string(before(row, "weight"))};
    perturber.apply(row, cells);
    EXPECT_EQ(cells[0], cell(whole, row, "weight"));
  }
}

TEST_F(Perturb, NoiseHasTheRightDeviation) {
  for (const double amount : {0.05, 0.1, 0.2}) {
    const TextTable damaged = copy("noise-" + shortest(amount));
    double sum = 0, squares = 0;
    for (int64_t row = 0; row < row_count; ++row) {
      const double moved = *parse_double(cell(damaged, row, "weight")) - *parse_double(before(row, "weight"));
      sum += moved;
      squares += moved * moved;
    }
    const double wanted = 2 * amount;
    EXPECT_NEAR(sum / row_count, 0, 4.5 * wanted / std::sqrt(row_count)) << amount;
    EXPECT_NEAR(std::sqrt(squares / row_count), wanted, 0.06 * wanted) << amount;
  }
}

TEST_F(Perturb, WholeNumbersStayWholeAndInRange) {
  const TextTable damaged = copy("noise-0.2");
  double squares = 0;
  int64_t counted = 0;
  std::set<double> seen;
  for (int64_t row = 20; row < row_count; ++row) {
    const double value = *parse_double(cell(damaged, row, "age")), was = *parse_double(before(row, "age"));
    ASSERT_EQ(value, std::floor(value));
    ASSERT_GE(value, 17);
    ASSERT_LE(value, 90);
    seen.insert(value);
    if (was < 35 || was > 72) continue;  // far from the ends nothing is clipped
    squares += (value - was) * (value - was);
    ++counted;
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(counted)), std::sqrt(16 + 1.0 / 12), 0.3);
  EXPECT_TRUE(seen.contains(17) && seen.contains(90));
}

TEST_F(Perturb, NumbersAreReadBackExactly) {
  const Perturber perturber(schema(), names, condition("noise-0.05"), 1);
  for (int64_t row = 20; row < 200; ++row) {
    std::vector<std::string> cells;
    for (const std::string& name : names) cells.emplace_back(before(row, name));
    perturber.apply(row, cells);
    const auto value = parse_double(cells[2]);
    ASSERT_TRUE(value) << cells[2];
    EXPECT_EQ(shortest(*value), cells[2]);
  }
}

TEST_F(Perturb, QuantisedColumnsHaveFewValues) {
  for (const int bits : {8, 6, 4}) {
    const TextTable damaged = copy("quantise-" + std::to_string(bits));
    const double step = 10.0 / (std::exp2(bits) - 1);
    std::set<std::string_view> weights, ages;
    for (int64_t row = 20; row < row_count; ++row) {
      weights.insert(cell(damaged, row, "weight"));
      ages.insert(cell(damaged, row, "age"));
      const double value = *parse_double(cell(damaged, row, "weight")), age = *parse_double(cell(damaged, row, "age"));
      ASSERT_LE(std::abs(value - *parse_double(before(row, "weight"))), step / 2 + 1e-12);
      ASSERT_NEAR((value + 3.5) / step, std::nearbyint((value + 3.5) / step), 1e-9);
      ASSERT_EQ(age, std::floor(age));
    }
    EXPECT_EQ(weights.size(), static_cast<size_t>(std::exp2(bits)));  // 10,001 values over the range reach every level
    EXPECT_TRUE(weights.contains("-3.5") && weights.contains("6.5"));
    EXPECT_LE(ages.size(), static_cast<size_t>(std::exp2(bits)));
    EXPECT_EQ(ages.size(), std::min<size_t>(74, static_cast<size_t>(std::exp2(bits))));
  }
}

TEST_F(Perturb, QuantisationClipsToTheTrainingRange) {
  TextTable outside({"weight", "age"});
  outside.add_row({"1000", "3"});
  outside.add_row({"-1e300", "1e9"});
  Schema used = schema();
  used.columns.resize(2);
  const Perturber perturber(used, outside.names(), condition("quantise-4"), 0);
  write_numbered_rows(outside, {0, 1}, file_, &perturber);
  EXPECT_EQ(read_file(file_), "row,weight,age\n0,6.5,17\n1,-3.5,90\n");
}

TEST_F(Perturb, HugeNumbersStayFinite) {
  Schema used = schema();
  used.columns = {used.columns[1]};
  used.columns[0].low = -1.5e308;
  used.columns[0].high = 1.5e308;
  used.columns[0].deviation = 1.5e308;
  for (const char* name : {"noise-0.2", "quantise-6"}) {
    const Perturber perturber(used, {"weight"}, condition(name), 0);
    for (int64_t row = 0; row < 200; ++row) {
      std::vector<std::string> cells = {row % 2 == 0 ? "1.7e308" : "-1.4e308"};
      perturber.apply(row, cells);
      ASSERT_TRUE(std::isfinite(*parse_double(cells[0]))) << name << " " << cells[0];
    }
  }
}

TEST_F(Perturb, MissingAndUnreadableNumbersStay) {
  for (const char* name : {"noise-0.2", "quantise-4"}) {
    const TextTable damaged = copy(name);
    for (const int64_t row : {7, 8, 9, 10}) EXPECT_EQ(cell(damaged, row, "age"), before(row, "age")) << name;
  }
}

TEST_F(Perturb, OcclusionEmptiesAContiguousBlock) {
  for (const auto& [name, length] : {std::pair{"occlude-0.1", 1}, {"occlude-0.2", 1}, {"occlude-0.3", 2}}) {  // of 5 columns
    const TextTable damaged = copy(name);
    std::vector<int64_t> starts(5, 0);
    for (int64_t row = 0; row < row_count; ++row) {
      std::string pattern;
      for (const Column& column : schema().columns) pattern += cell(damaged, row, column.name).empty() ? 'x' : '.';
      const size_t begin = pattern.find('x');
      ASSERT_NE(begin, std::string::npos);
      ASSERT_EQ(pattern, std::string(begin, '.') + std::string(static_cast<size_t>(length), 'x') +
                             std::string(5 - begin - static_cast<size_t>(length), '.'));
      ++starts[begin];
    }
    const int places = 5 - length + 1;
    for (int i = 0; i < places; ++i) {
      const double share = 1.0 / places;
      EXPECT_NEAR(static_cast<double>(starts[static_cast<size_t>(i)]), share * row_count,
                  4.5 * std::sqrt(share * (1 - share) * row_count))
          << name;
    }
  }
}

TEST_F(Perturb, LabelAndUnusedColumnsAreNeverTouched) {
  for (const Perturbation& perturbation : perturbations()) {
    const TextTable damaged = copy(perturbation.name);
    EXPECT_EQ(changed(damaged, "y"), 0) << perturbation.name;
    EXPECT_EQ(changed(damaged, "left_out"), 0) << perturbation.name;
    EXPECT_GT(changed(damaged, "weight"), 0) << perturbation.name;
    for (const int64_t row : {0, 3999}) EXPECT_EQ(cell(damaged, row, "row"), std::to_string(row));
  }
}

TEST_F(Perturb, NoiseAndQuantisationLeaveTextsAlone) {
  for (const char* name : {"noise-0.2", "quantise-4"}) {
    const TextTable damaged = copy(name);
    for (const char* column : {"colour", "town", "tags"}) EXPECT_EQ(changed(damaged, column), 0) << name << " " << column;
  }
}

TEST_F(Perturb, TheSeedDecidesTheBytes) {
  std::set<std::string> hashes;
  for (const Perturbation& perturbation : perturbations()) {
    const std::string first = write(perturbation.name, 3);
    EXPECT_EQ(first, sha256_file(file_));
    EXPECT_EQ(write(perturbation.name, 3), first);
    const bool drawn = perturbation.damage != Damage::quantise;
    EXPECT_EQ(write(perturbation.name, 4) != first, drawn) << perturbation.name;
    hashes.insert(first);
  }
  // Of 5 columns, 0.1 and 0.2 both take one; they differ all the same, since each condition has its own draws.
  EXPECT_EQ(hashes.size(), perturbations().size());
}

TEST_F(Perturb, AnExportNamesFilesAndHashes) {
  TableDataset dataset;
  dataset.table = table();
  dataset.test = {4, 8, 15};
  const nlohmann::json record = export_perturbed(dataset, schema(), 3, folder_.path() / "out");
  EXPECT_EQ(record, nlohmann::json::parse(read_file(folder_.path() / "out/perturbed.json")));
  EXPECT_EQ(record["seed"], 3);
  ASSERT_EQ(record["conditions"].size(), 12u);
  for (const Perturbation& perturbation : perturbations()) {
    const auto& condition = record["conditions"][perturbation.name];
    EXPECT_EQ(condition["file"], "perturbed/test-" + perturbation.name + ".csv");
    EXPECT_EQ(condition["sha256"], sha256_file(folder_.path() / "out" / condition["file"].get<std::string>()));
    EXPECT_EQ(condition["sha256"], write(perturbation.name, 3, {4, 8, 15}));
  }
}

TEST_F(Perturb, AColumnCalledRowIsRefused) {
  TextTable clash({"row", "weight"});
  clash.add_row({"1", "2"});
  const std::string message = message_of<UserError>([&] { write_numbered_rows(clash, {0}, file_); });
  EXPECT_NE(message.find("called 'row'"), std::string::npos) << message;
  EXPECT_FALSE(fs::exists(file_));
}

}  // namespace
}  // namespace l0gm
