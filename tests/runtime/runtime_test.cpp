#include "l0gm/runtime.h"

#include <gtest/gtest.h>

#include <atomic>
#include <clocale>
#include <cmath>
#include <limits>
#include <locale>
#include <thread>

#include "base/files.h"
#include "l0gm/error.h"
#include "runtime/allocation_count.h"
#include "runtime/forged_file.h"
#include "runtime/sample_model.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

std::string bytes_of(const SampleOptions& options, const Calibrator* calibrator = nullptr) {
  const TemporaryFolder folder;
  CompactHeader header = sample_header(options);
  if (calibrator != nullptr) header.calibrator = *calibrator;
  write_compact(folder.path() / "m.l0gm", header, sample_net(header.schema, options));
  return read_file(folder.path() / "m.l0gm");
}

CompactModel model_of(const SampleOptions& options, CompactModel::Options with = {}) {
  return CompactModel::from_bytes(bytes_of(options), "m.l0gm", with);
}

// A net whose workspace is not on the stack.
SampleOptions large_sample() { return {.members = 40, .hidden = 40}; }

std::vector<float> predict(const CompactModel& model, const std::vector<std::vector<std::string>>& rows,
                           InputCounts* counts = nullptr) {
  std::vector<float> probabilities(rows.size() * model.classes().size());
  model.predict(flat(rows), probabilities, nullptr, counts);
  return probabilities;
}

// The sample's rows over and over, a different one first each time.
std::vector<std::vector<std::string>> many_rows(size_t count, size_t first = 0) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < count; ++i) rows.push_back(sample_rows()[(first + i * 3 + i / 7) % sample_rows().size()]);
  return rows;
}

void expect_near(const std::vector<float>& found, const std::vector<double>& wanted, double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], tolerance) << i;
}

TEST(CompactModel, ProbabilitiesAreThoseOfTheReference) {
  for (const WeightType weights : {WeightType::float32, WeightType::bfloat16, WeightType::int8}) {
    for (SampleOptions options :
         {SampleOptions{}, full_sample(), large_sample(), shared_sample(), SampleOptions{.classes = 4, .hidden = 0, .cin = true},
          SampleOptions{.trees = true}, SampleOptions{.classes = 3, .trees = true}, SampleOptions{.tree_statistics = true}}) {
      options.weights = weights;
      const std::string bytes = bytes_of(options);
      const CompactFile file = read_compact(bytes, "m");
      for (const bool calibrated : {false, true}) {
        const CompactModel model = CompactModel::from_bytes(bytes, "m", {.threads = 1, .calibrated = calibrated});
        expect_near(predict(model, sample_rows()), reference_probabilities(file, sample_rows(), calibrated), 2e-6);
      }
    }
  }
}

TEST(CompactModel, KeptFilesOfEveryVersionSayWhatTheySaid) {
  for (const char* name : {"version1", "version1_int8", "version1_batch", "version1_trees", "version1_tree_statistics"}) {
    const std::string path = std::string(L0GM_SOURCE_DIR) + "/tests/runtime/files/" + name;
    const nlohmann::json expected = nlohmann::json::parse(read_file(path + ".json"));
    for (const bool calibrated : {false, true}) {
      const CompactModel model = CompactModel::load(path + ".l0gm", {.threads = 1, .calibrated = calibrated});
      const auto rows = expected["rows"].get<std::vector<std::vector<std::string>>>();
      expect_near(predict(model, rows), expected[calibrated ? "calibrated" : "probabilities"].get<std::vector<double>>(), 2e-6);
    }
  }
}

TEST(CompactModel, DescribesItself) {
  const TemporaryFolder folder;
  const CompactModel model = CompactModel::load(folder.write("m.l0gm", bytes_of(full_sample())));
  EXPECT_EQ(model.columns(), (std::vector<std::string>{"age", "angle", "colour", "city", "tags", "weight"}));
  EXPECT_EQ(model.classes(), (std::vector<std::string>{"k", "l", "m"}));
  EXPECT_EQ(nlohmann::json::parse(model.manifest())["about"]["made_for"], "tests");
  EXPECT_GT(model.memory_bytes(), 1000U);
  EXPECT_TRUE(model.is_numeric(0));
  EXPECT_FALSE(model.is_numeric(2));
  EXPECT_THROW(model.is_numeric(6), UserError);
  EXPECT_THROW(CompactModel::load(folder.path() / "none.l0gm"), UserError);
  EXPECT_THROW(model_of({}, {.threads = 0}), UserError);
  EXPECT_THROW(model_of({}, {.threads = 100000}), UserError);
}

TEST(CompactModel, CanBeMoved) {
  CompactModel first = model_of({});
  const std::vector<float> before = predict(first, sample_rows());
  CompactModel second = std::move(first);
  EXPECT_EQ(predict(second, sample_rows()), before);
  first = model_of(full_sample());
  EXPECT_EQ(first.classes().size(), 3U);
}

TEST(CompactModel, RowsOfABatchAreThoseOfSingleCalls) {
  for (const SampleOptions& options : {SampleOptions{}, full_sample(), large_sample(), shared_sample()}) {
    const CompactModel model = model_of(options);
    const auto rows = many_rows(45);
    const std::vector<float> together = predict(model, rows);
    std::vector<float> alone;
    for (const auto& row : rows) {
      for (const float p : predict(model, {row})) alone.push_back(p);
    }
    EXPECT_EQ(together, alone);
  }
}

TEST(CompactModel, NoRowsAreFine) {
  const CompactModel model = model_of({});
  model.predict(std::span<const double>(), std::span<float>());
  InputCounts counts = model.empty_counts();
  model.predict(std::span<const std::string_view>(), std::span<float>(), nullptr, &counts);
  EXPECT_EQ(counts.missing, std::vector<int64_t>(6, 0));
}

TEST(CompactModel, NumbersAndCodesAreTheSameRows) {
  const CompactModel model = model_of(full_sample());
  const double nan = std::nan("");
  const auto code = [&model](size_t column, const char* text) { return static_cast<double>(model.code(column, text)); };
  const std::vector<double> numbers = {30,
                                       0.5,
                                       code(2, "red"),
                                       code(3, "Paris"),
                                       code(4, "a"),
                                       71.5,  //
                                       nan,
                                       nan,
                                       nan,
                                       nan,
                                       nan,
                                       nan,  //
                                       -5,
                                       1e9,
                                       code(2, "violet"),
                                       code(3, "Oslo"),
                                       code(4, "x"),
                                       1e308};
  const std::vector<std::vector<std::string>> rows = {sample_rows()[0],
                                                      sample_rows()[3],
                                                      {"-5", "1e9", "violet", "Oslo", "x", "1e308"}};
  std::vector<float> probabilities(9);
  model.predict(numbers, probabilities);
  EXPECT_EQ(probabilities, predict(model, rows));
  EXPECT_EQ(model.code(2, ""), 0);
  EXPECT_EQ(model.code(2, "violet"), 1);
  EXPECT_EQ(model.code(2, " red "), 2);
  EXPECT_THROW(model.code(0, "30"), UserError) << "a numeric column has no codes";
  EXPECT_THROW(model.code(6, "x"), UserError);
}

TEST(CompactModel, ColumnsAreFoundByName) {
  const CompactModel model = model_of({});
  const std::vector<std::string> names = {"weight", "id", "tags", "city", "colour", "note", "angle", "age"};
  const RowLayout layout = model.layout(names);
  EXPECT_EQ(layout.width, 8);
  EXPECT_EQ(layout.positions, (std::vector<int32_t>{7, 6, 4, 3, 2, 0}));
  std::vector<std::vector<std::string>> mixed;
  for (const auto& row : sample_rows()) mixed.push_back({row[5], "7", row[4], row[3], row[2], "n", row[1], row[0]});
  std::vector<float> probabilities(sample_rows().size() * 2);
  InputCounts counts = model.empty_counts(), straight = model.empty_counts();
  model.predict(flat(mixed), probabilities, &layout, &counts);
  EXPECT_EQ(probabilities, predict(model, sample_rows(), &straight));
  EXPECT_EQ(counts.unseen, straight.unseen);
  EXPECT_EQ(counts.missing, straight.missing);
  const std::vector<double> plain = {30, 1, 2, 3, 4, 70}, moved = {70, 9, 4, 3, 2, 9, 1, 30};
  std::vector<float> one(2), other(2);
  model.predict(plain, one);
  model.predict(moved, other, &layout);
  EXPECT_EQ(one, other);
}

TEST(CompactModel, MissingColumnsAreListedWithTheNearestName) {
  const CompactModel model = model_of({});
  const auto error = [&model](const std::vector<std::string>& names) {
    return message_of<UserError>([&] { model.layout(names); });
  };
  const std::string two = error({"age", "angle", "color", "city", "weight"});
  EXPECT_NE(two.find("2 of the 6 columns that the model reads are not among the 5 given"), std::string::npos) << two;
  EXPECT_NE(two.find("'colour'. Did you mean 'color'?"), std::string::npos) << two;
  EXPECT_NE(two.find("'tags'."), std::string::npos) << two;
  EXPECT_NE(error({"age", "angle", "colour", "city", "tags", "weight", "age"}).find("'age' is given 2 times"), std::string::npos);
  EXPECT_EQ(model.layout(std::vector<std::string>{"age", "angle", "colour", "city", "tags", "weight", "x", "x"}).width, 8);
}

TEST(CompactModel, SizesThatDoNotFitAreRefused) {
  const CompactModel model = model_of({});
  std::vector<std::string_view> cells(12, "1");
  std::vector<float> probabilities(4);
  model.predict(cells, probabilities);
  const auto refused = [&](size_t cell_count, size_t probability_count, const RowLayout* layout = nullptr,
                           InputCounts* counts = nullptr) {
    try {
      const auto some = std::span<const std::string_view>(cells).first(cell_count);
      model.predict(some, std::span(probabilities).first(probability_count), layout, counts);
      return false;
    } catch (const UserError&) {
      return true;
    }
  };
  EXPECT_TRUE(refused(12, 2));
  EXPECT_TRUE(refused(6, 4));
  EXPECT_TRUE(refused(7, 2));
  EXPECT_TRUE(refused(6, 3));
  EXPECT_TRUE(refused(6, 0));
  EXPECT_FALSE(refused(6, 2));
  RowLayout layout{6, {0, 1, 2, 3, 4, 5}};
  EXPECT_FALSE(refused(12, 4, &layout));
  layout.positions[2] = 6;
  EXPECT_TRUE(refused(12, 4, &layout));
  layout.positions[2] = -1;
  EXPECT_TRUE(refused(12, 4, &layout));
  layout.positions = {0};
  EXPECT_TRUE(refused(12, 4, &layout));
  InputCounts counts = model.empty_counts();
  EXPECT_FALSE(refused(12, 4, nullptr, &counts));
  counts.missing.pop_back();
  EXPECT_TRUE(refused(12, 4, nullptr, &counts));
}

TEST(CompactModel, CountsWhatTrainingHadNotSeen) {
  const CompactModel model = model_of({});
  InputCounts counts = model.empty_counts();
  predict(model, sample_rows(), &counts);
  EXPECT_EQ(counts.unseen, (std::vector<int64_t>{0, 0, 2, 0, 2, 0}));
  EXPECT_EQ(counts.unreadable, (std::vector<int64_t>{1, 1, 0, 0, 0, 1}));
  EXPECT_EQ(counts.missing, (std::vector<int64_t>{2, 1, 1, 2, 2, 1}));
  predict(model, sample_rows(), &counts);
  EXPECT_EQ(counts.unseen, (std::vector<int64_t>{0, 0, 4, 0, 4, 0})) << "added to what was there";
}

class CommaPoint : public std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

TEST(CompactModel, NumbersAreReadTheSameInEveryLocale) {
  const std::string bytes = bytes_of(full_sample());
  const std::vector<float> before = predict(CompactModel::from_bytes(bytes, "m", {}), sample_rows());
  const std::locale old = std::locale::global(std::locale(std::locale::classic(), new CommaPoint));
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;  // where the machine has one
  }
  const std::vector<float> after = predict(CompactModel::from_bytes(bytes, "m", {}), sample_rows());
  std::setlocale(LC_ALL, "C");
  std::locale::global(old);
  EXPECT_EQ(after, before);
}

TEST(CompactModel, EveryCalibratorIsAppliedOnRequest) {
  const IsotonicCurve curve{{-2, 0, 1}, {0.1, 0.4, 0.8}};
  for (const int classes : {2, 3}) {
    for (const CalibratorKind kind :
         {CalibratorKind::none, CalibratorKind::temperature, CalibratorKind::power, CalibratorKind::isotonic}) {
      Calibrator calibrator;
      calibrator.kind = kind;
      calibrator.temperature = 2.5;
      calibrator.scale = 0.7;
      calibrator.exponent = 1.3;
      if (kind == CalibratorKind::isotonic) calibrator.curves.assign(classes == 2 ? 1 : 3, curve);
      SampleOptions options;
      options.classes = classes;
      const std::string bytes = bytes_of(options, &calibrator);
      const std::vector<float> raw = predict(CompactModel::from_bytes(bytes, "m", {}), sample_rows());
      const std::vector<float> found =
          predict(CompactModel::from_bytes(bytes, "m", {.threads = 1, .calibrated = true}), sample_rows());
      std::vector<double> wanted(raw.begin(), raw.end());
      const auto width = static_cast<size_t>(classes);
      for (size_t r = 0; r < sample_rows().size(); ++r) calibrator.apply_to_row({wanted.data() + r * width, width});
      expect_near(found, wanted, 1e-6);
      EXPECT_EQ(found == raw, kind == CalibratorKind::none);
    }
  }
}

TEST(CompactModel, AResultThatIsNotFiniteIsAnError) {
  ForgedFile file(bytes_of({}));
  std::string& base = file.tensors["base"];
  const float huge = std::numeric_limits<float>::max();
  for (size_t at = 0; at < base.size(); at += 4) std::memcpy(base.data() + at, &huge, 4);
  std::string& output = file.tensors["output"];
  for (size_t at = 0; at < output.size(); at += 4) std::memcpy(output.data() + at, &huge, 4);
  const CompactModel model = CompactModel::from_bytes(file.bytes(), "m", {.threads = 2});
  InputCounts counts = model.empty_counts();
  EXPECT_THROW(predict(model, sample_rows(), &counts), UserError);
  EXPECT_EQ(counts.missing.size(), 6U) << "the counts are returned also after an error";
  EXPECT_THROW(predict(model, many_rows(5000)), UserError) << "from another thread, too";
}

TEST(CompactModel, AForgedCalibratorWithoutFiniteResultsIsAnError) {
  ForgedFile file(bytes_of({}));
  file.manifest["calibrator"]["temperature"] = 1e-310;
  const CompactModel model = CompactModel::from_bytes(file.bytes(), "m", {.threads = 1, .calibrated = true});
  EXPECT_THROW(predict(model, sample_rows()), UserError);
}

TEST(CompactModel, SeveralThreadsGiveTheSameBitsAsOne) {
  for (const SampleOptions& options : {SampleOptions{}, full_sample(), large_sample()}) {
    const std::string bytes = bytes_of(options);
    const CompactModel one = CompactModel::from_bytes(bytes, "m", {}),
                       four = CompactModel::from_bytes(bytes, "m", {.threads = 4});
    for (const size_t count : {2047U, 2048U, 5003U}) {
      const auto rows = many_rows(count);
      InputCounts counts_of_one = one.empty_counts(), counts_of_four = four.empty_counts();
      ASSERT_EQ(predict(one, rows, &counts_of_one), predict(four, rows, &counts_of_four));
      EXPECT_EQ(counts_of_one.unseen, counts_of_four.unseen);
      EXPECT_EQ(counts_of_one.unreadable, counts_of_four.unreadable);
      EXPECT_EQ(counts_of_one.missing, counts_of_four.missing);
    }
  }
}

// More callers than there are workspaces made at load, with single rows and large batches at the same time.
void check_concurrent_calls(const CompactModel& model, size_t callers, size_t rounds) {
  std::vector<std::vector<std::vector<std::string>>> rows;
  std::vector<std::vector<float>> wanted;
  for (size_t c = 0; c < callers; ++c) {
    rows.push_back(many_rows(c % 3 == 0 ? 2500 : 1 + c, c));
    wanted.push_back(predict(model, rows.back()));
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t c = 0; c < callers; ++c) {
    threads.emplace_back([&, c] {
      InputCounts counts = model.empty_counts();
      for (size_t i = 0; i < rounds; ++i) {
        if (predict(model, rows[c], i % 2 == 0 ? &counts : nullptr) != wanted[c]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(CompactModel, ManyThreadsCallingOneModelGetTheSameBits) {
  check_concurrent_calls(model_of({}), 8, 40);
  check_concurrent_calls(model_of(full_sample(), {.threads = 3}), 8, 15);
  check_concurrent_calls(model_of(large_sample(), {.threads = 2}), std::thread::hardware_concurrency() + 6, 15);
}

TEST(CompactModel, NothingIsAllocatedPerCall) {
  for (const SampleOptions& options : {SampleOptions{}, full_sample(), large_sample()}) {
    const CompactModel model = model_of(options, {.threads = 2, .calibrated = true});
    const auto rows = many_rows(3000);
    const std::vector<std::string_view> cells = flat(rows);
    const std::vector<double> numbers(6 * 3000, 2.0);
    std::vector<float> probabilities(3000 * model.classes().size());
    const size_t classes = model.classes().size();
    InputCounts counts = model.empty_counts();
    const RowLayout layout = model.layout(model.columns());
    const int64_t before = allocation_count();
    for (const size_t count : {1U, 16U, 3000U}) {
      const auto some = std::span(probabilities).first(count * classes);
      model.predict(std::span<const std::string_view>(cells).first(count * 6), some, nullptr, &counts);
      model.predict(std::span<const std::string_view>(cells).first(count * 6), some, &layout);
      model.predict(std::span<const double>(numbers).first(count * 6), some, nullptr, &counts);
    }
    model.code(2, "red");
    EXPECT_EQ(allocation_count(), before);
  }
}

}  // namespace
}  // namespace l0gm
