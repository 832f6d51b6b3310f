#include "l0gm/c_api.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "base/version.h"
#include "l0gm/runtime.h"
#include "runtime/allocation_count.h"
#include "runtime/forged_file.h"
#include "runtime/manifest_net.h"
#include "runtime/sample_model.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

std::string last_error() { return l0gm_last_error(); }

class CApi : public testing::Test {
 protected:
  CApi() {
    const SampleOptions options = full_sample();
    const CompactHeader header = sample_header(options);
    write_compact(path(), header, sample_net(header.schema, options));
    EXPECT_EQ(l0gm_load(path().c_str(), nullptr, &model_), L0GM_OK) << last_error();
    for (const auto& row : sample_rows()) {
      for (const std::string& cell : row) cells_.push_back(cell.c_str());
    }
    probabilities_.resize(sample_rows().size() * 3);
  }
  ~CApi() override { l0gm_free(model_); }
  std::string path() const { return (folder_.path() / "m.l0gm").string(); }
  size_t rows() const { return sample_rows().size(); }
  std::vector<float> wanted(bool calibrated = false) const {
    std::vector<float> result(probabilities_.size());
    CompactModel::load(path(), {.threads = 1, .calibrated = calibrated}).predict(flat(sample_rows()), result);
    return result;
  }

  TemporaryFolder folder_;
  l0gm_model* model_ = nullptr;
  std::vector<const char*> cells_;
  std::vector<float> probabilities_;
};

TEST_F(CApi, ReportsVersionColumnsAndClasses) {
  EXPECT_EQ(l0gm_abi_version(), L0GM_ABI_VERSION);
  EXPECT_STREQ(l0gm_version(), version);
  EXPECT_EQ(l0gm_column_count(model_), 6U);
  EXPECT_STREQ(l0gm_column_name(model_, 2), "colour");
  EXPECT_EQ(l0gm_column_name(model_, 6), nullptr);
  EXPECT_EQ(l0gm_column_is_numeric(model_, 0), 1);
  EXPECT_EQ(l0gm_column_is_numeric(model_, 2), 0);
  EXPECT_EQ(l0gm_column_is_numeric(model_, 6), 0);
  EXPECT_EQ(l0gm_class_count(model_), 3U);
  EXPECT_STREQ(l0gm_class_name(model_, 2), "m");
  EXPECT_EQ(l0gm_class_name(model_, 3), nullptr);
  EXPECT_EQ(nlohmann::json::parse(l0gm_manifest(model_))["kind"], "table");
  EXPECT_GT(l0gm_memory_bytes(model_), 1000U);
}

// 0: as the file says; 1: calibrated; -1: raw.
TEST_F(CApi, TheStoredCalibratorIsAppliedAsAskedOrWhereItHelps) {
  const auto is_calibrated = [&](int32_t asked) {
    const l0gm_options options = {1, asked};
    l0gm_model* model = nullptr;
    EXPECT_EQ(l0gm_load(path().c_str(), &options, &model), L0GM_OK) << last_error();
    EXPECT_EQ(l0gm_predict_text(model, nullptr, cells_.data(), nullptr, rows(), probabilities_.data(), nullptr), L0GM_OK);
    const bool said = l0gm_is_calibrated(model) != 0;
    EXPECT_EQ(probabilities_, wanted(said));
    l0gm_free(model);
    return said;
  };
  EXPECT_EQ(l0gm_is_calibrated(model_), 0) << "files of earlier versions do not say that it helps";
  EXPECT_FALSE(is_calibrated(0));
  EXPECT_TRUE(is_calibrated(1));
  const SampleOptions options = full_sample();
  CompactHeader header = sample_header(options);
  header.calibrator.helps = true;
  write_compact(path(), header, sample_net(header.schema, options));
  EXPECT_TRUE(is_calibrated(0));
  EXPECT_FALSE(is_calibrated(-1));
  EXPECT_TRUE(CompactModel::load(path()).is_calibrated());
  EXPECT_EQ(l0gm_is_calibrated(nullptr), 0);
}

TEST_F(CApi, NullModelsAreEmpty) {
  EXPECT_EQ(l0gm_column_count(nullptr), 0U);
  EXPECT_EQ(l0gm_column_name(nullptr, 0), nullptr);
  EXPECT_EQ(l0gm_class_count(nullptr), 0U);
  EXPECT_EQ(l0gm_class_name(nullptr, 0), nullptr);
  EXPECT_EQ(l0gm_manifest(nullptr), nullptr);
  EXPECT_EQ(l0gm_memory_bytes(nullptr), 0U);
  l0gm_free(nullptr);
  l0gm_layout_free(nullptr);
}

TEST_F(CApi, TextsWithAndWithoutLengthsGiveTheSameBitsAsTheModel) {
  ASSERT_EQ(l0gm_predict_text(model_, nullptr, cells_.data(), nullptr, rows(), probabilities_.data(), nullptr), L0GM_OK)
      << last_error();
  EXPECT_EQ(probabilities_, wanted());
  std::string together;  // no zero bytes in between: only the lengths say where a cell ends
  std::vector<size_t> lengths, begins;
  for (const char* cell : cells_) {
    begins.push_back(together.size());
    lengths.push_back(std::strlen(cell));
    together += cell;
  }
  std::vector<const char*> views;
  for (const size_t begin : begins) views.push_back(together.data() + begin);
  std::fill(probabilities_.begin(), probabilities_.end(), -1.0F);
  ASSERT_EQ(l0gm_predict_text(model_, nullptr, views.data(), lengths.data(), rows(), probabilities_.data(), nullptr), L0GM_OK);
  EXPECT_EQ(probabilities_, wanted());
}

TEST_F(CApi, ANullCellIsMissing) {
  const std::vector<const char*> nulls(6, nullptr), empty(6, "");
  std::vector<float> of_nulls(3), of_empty(3);
  std::vector<int64_t> counts(18, 0);
  ASSERT_EQ(l0gm_predict_text(model_, nullptr, nulls.data(), nullptr, 1, of_nulls.data(), counts.data()), L0GM_OK);
  ASSERT_EQ(l0gm_predict_text(model_, nullptr, empty.data(), nullptr, 1, of_empty.data(), nullptr), L0GM_OK);
  EXPECT_EQ(of_nulls, of_empty);
  for (size_t i = 0; i < 18; ++i) EXPECT_EQ(counts[i], i < 12 ? 0 : 1) << i;
}

TEST_F(CApi, CountsAreAddedToThoseOfTheCaller) {
  std::vector<int64_t> counts(18, 100);
  ASSERT_EQ(l0gm_predict_text(model_, nullptr, cells_.data(), nullptr, rows(), probabilities_.data(), counts.data()), L0GM_OK);
  EXPECT_EQ(counts,
            (std::vector<int64_t>{100, 100, 102, 100, 102, 100, 101, 101, 100, 100, 100, 101, 102, 101, 101, 102, 102, 101}));
}

TEST_F(CApi, OptionsAreApplied) {
  for (const int32_t threads : {0, 1, 3}) {
    const l0gm_options options{threads, 1};
    l0gm_model* model = nullptr;
    ASSERT_EQ(l0gm_load(path().c_str(), &options, &model), L0GM_OK);
    ASSERT_EQ(l0gm_predict_text(model, nullptr, cells_.data(), nullptr, rows(), probabilities_.data(), nullptr), L0GM_OK);
    EXPECT_EQ(probabilities_, wanted(true));
    std::vector<const char*> many;
    for (int i = 0; i < 400; ++i) many.insert(many.end(), cells_.begin(), cells_.end());
    std::vector<float> of_many(400 * probabilities_.size());
    std::vector<int64_t> counts(18, 0);
    ASSERT_EQ(l0gm_predict_text(model, nullptr, many.data(), nullptr, 400 * rows(), of_many.data(), counts.data()), L0GM_OK);
    for (size_t i = 0; i < of_many.size(); ++i) ASSERT_EQ(of_many[i], probabilities_[i % probabilities_.size()]);
    EXPECT_EQ(counts[2], 800);
    l0gm_free(model);
  }
}

TEST_F(CApi, LayoutsAndNumbers) {
  const char* const names[] = {"weight", "id", "tags", "city", "colour", "angle", "age"};
  l0gm_layout* layout = nullptr;
  ASSERT_EQ(l0gm_layout_create(model_, names, 7, &layout), L0GM_OK) << last_error();
  int32_t code = -1;
  ASSERT_EQ(l0gm_code(model_, 2, "green", 5, &code), L0GM_OK);
  EXPECT_EQ(code, 3);
  ASSERT_EQ(l0gm_code(model_, 2, nullptr, 0, &code), L0GM_OK);
  EXPECT_EQ(code, 0);
  const double nan = std::nan("");
  const std::vector<double> plain = {30, 0.5, 3, 2, 2, nan}, moved = {nan, 99, 2, 2, 3, 0.5, 30};
  std::vector<float> one(3), other(3);
  std::vector<int64_t> counts(18, 0);
  ASSERT_EQ(l0gm_predict_numbers(model_, nullptr, plain.data(), 1, one.data(), nullptr), L0GM_OK);
  ASSERT_EQ(l0gm_predict_numbers(model_, layout, moved.data(), 1, other.data(), counts.data()), L0GM_OK);
  EXPECT_EQ(one, other);
  EXPECT_EQ(counts[17], 1) << "the missing weight";
  const char* const row[] = {"?", "7", "a", "Rome", "green", "0.5", "30"};
  const char* const straight[] = {"30", "0.5", "green", "Rome", "a", "?"};
  ASSERT_EQ(l0gm_predict_text(model_, layout, row, nullptr, 1, one.data(), nullptr), L0GM_OK);
  ASSERT_EQ(l0gm_predict_text(model_, nullptr, straight, nullptr, 1, other.data(), nullptr), L0GM_OK);
  EXPECT_EQ(one, other);
  l0gm_layout_free(layout);
}

TEST_F(CApi, BadArguments) {
  l0gm_model* model = model_;
  EXPECT_EQ(l0gm_load(nullptr, nullptr, &model), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(model, nullptr) << "nothing to free";
  EXPECT_EQ(last_error(), "the path is null");
  EXPECT_EQ(l0gm_load(path().c_str(), nullptr, nullptr), L0GM_BAD_ARGUMENT);
  const l0gm_options negative{-1, 0}, many{100000, 0};
  EXPECT_EQ(l0gm_load(path().c_str(), &negative, &model), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_load(path().c_str(), &many, &model), L0GM_BAD_ARGUMENT);

  l0gm_layout* layout = nullptr;
  const char* const names[] = {"age", "angel"};
  const char* const with_null[] = {"age", nullptr};
  EXPECT_EQ(l0gm_layout_create(model_, names, 2, &layout), L0GM_BAD_ARGUMENT);
  EXPECT_NE(last_error().find("'angle'. Did you mean 'angel'?"), std::string::npos) << last_error();
  EXPECT_EQ(l0gm_layout_create(model_, with_null, 2, &layout), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_layout_create(model_, nullptr, 2, &layout), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_layout_create(nullptr, names, 2, &layout), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_layout_create(model_, names, 2, nullptr), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_layout_create(model_, names, SIZE_MAX, &layout), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(layout, nullptr);

  int32_t code = 0;
  EXPECT_EQ(l0gm_code(nullptr, 2, "x", 1, &code), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_code(model_, 2, nullptr, 1, &code), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_code(model_, 2, "x", 1, nullptr), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_code(model_, 0, "x", 1, &code), L0GM_BAD_ARGUMENT);
  EXPECT_NE(last_error().find("column 'age' is numeric"), std::string::npos);
  EXPECT_EQ(l0gm_code(model_, 6, "x", 1, &code), L0GM_BAD_ARGUMENT);

  float* const p = probabilities_.data();
  EXPECT_EQ(l0gm_predict_text(nullptr, nullptr, cells_.data(), nullptr, 1, p, nullptr), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_predict_text(model_, nullptr, nullptr, nullptr, 1, p, nullptr), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_predict_text(model_, nullptr, cells_.data(), nullptr, 1, nullptr, nullptr), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_predict_numbers(model_, nullptr, nullptr, 1, p, nullptr), L0GM_BAD_ARGUMENT);
  const double number = 1;
  EXPECT_EQ(l0gm_predict_numbers(model_, nullptr, &number, SIZE_MAX, p, nullptr), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_predict_numbers(model_, nullptr, nullptr, 0, nullptr, nullptr), L0GM_OK) << "no rows are fine";
}

TEST_F(CApi, ALayoutOfAnotherModelIsRefused) {
  const SampleOptions options = full_sample();
  CompactHeader header = sample_header(options);
  Schema& schema = header.schema;  // the same without its last column
  schema.columns.pop_back();
  schema.fields.erase(schema.fields.begin() + 6);
  TableNet<Matrix> net;
  net.outputs = 3;
  net.columns = columns_of(schema);
  net.statistic_slots = statistic_slots_of(schema);
  const int64_t wide_rows = net.arrange();
  net.base = Matrix(1, 3);
  net.wide = Matrix(wide_rows, 3);
  const std::string other_path = (folder_.path() / "other.l0gm").string();
  write_compact(other_path, header, net);
  l0gm_model* other = nullptr;
  ASSERT_EQ(l0gm_load(other_path.c_str(), nullptr, &other), L0GM_OK) << last_error();
  const char* const names[] = {"age", "angle", "colour", "city", "tags", "weight"};
  l0gm_layout* layout = nullptr;
  ASSERT_EQ(l0gm_layout_create(model_, names, 6, &layout), L0GM_OK);
  EXPECT_EQ(l0gm_predict_text(other, layout, cells_.data(), nullptr, 1, probabilities_.data(), nullptr), L0GM_BAD_ARGUMENT);
  EXPECT_EQ(l0gm_predict_text(model_, layout, cells_.data(), nullptr, 1, probabilities_.data(), nullptr), L0GM_OK);
  l0gm_layout_free(layout);
  l0gm_free(other);
}

TEST_F(CApi, BadFiles) {
  l0gm_model* model = nullptr;
  EXPECT_EQ(l0gm_load((path() + ".none").c_str(), nullptr, &model), L0GM_BAD_FILE);
  EXPECT_NE(last_error().find(".none"), std::string::npos);
  folder_.write("text.l0gm", "a,b\n1,2\n");
  EXPECT_EQ(l0gm_load((folder_.path() / "text.l0gm").c_str(), nullptr, &model), L0GM_BAD_FILE);
  ForgedFile file(read_file(path()));
  file.manifest["format_version"] = 3;
  folder_.write("newer.l0gm", file.bytes());
  EXPECT_EQ(l0gm_load((folder_.path() / "newer.l0gm").c_str(), nullptr, &model), L0GM_BAD_FILE);
  EXPECT_NE(last_error().find("format version 3"), std::string::npos);
  EXPECT_EQ(model, nullptr);
}

TEST_F(CApi, OutOfMemory) {
  const std::string file = path();
  std::vector<l0gm_status> found;
  for (size_t from = 1024; from < size_t{1} << 24; from *= 2) {
    l0gm_model* model = nullptr;
    l0gm_status status = L0GM_INTERNAL;
    {
      const FailingAllocations failing(from);
      status = l0gm_load(file.c_str(), nullptr, &model);
    }
    EXPECT_TRUE(status == L0GM_OUT_OF_MEMORY || status == L0GM_OK) << from << ": " << last_error();
    EXPECT_EQ(model == nullptr, status != L0GM_OK);
    l0gm_free(model);
    found.push_back(status);
  }
  EXPECT_EQ(found.front(), L0GM_OUT_OF_MEMORY);
  EXPECT_EQ(found.back(), L0GM_OK);
  EXPECT_EQ(last_error(), "there is not enough memory");
}

TEST_F(CApi, NotFinite) {
  ForgedFile file(read_file(path()));
  const float huge = std::numeric_limits<float>::max();
  for (const char* name : {"base", "output"}) {
    std::string& bytes = file.tensors[name];
    for (size_t at = 0; at < bytes.size(); at += 4) std::memcpy(bytes.data() + at, &huge, 4);
  }
  folder_.write("huge.l0gm", file.bytes());
  l0gm_model* model = nullptr;
  ASSERT_EQ(l0gm_load((folder_.path() / "huge.l0gm").c_str(), nullptr, &model), L0GM_OK) << last_error();
  EXPECT_EQ(l0gm_predict_text(model, nullptr, cells_.data(), nullptr, 1, probabilities_.data(), nullptr), L0GM_NOT_FINITE);
  EXPECT_NE(last_error().find("no finite probability"), std::string::npos);
  l0gm_free(model);
}

TEST_F(CApi, EveryThreadHasItsOwnLastError) {
  l0gm_model* model = nullptr;
  EXPECT_EQ(l0gm_load(nullptr, nullptr, &model), L0GM_BAD_ARGUMENT);
  const std::string mine = last_error();
  std::string before, after;
  std::thread([&] {
    before = last_error();
    int32_t code = 0;
    EXPECT_EQ(l0gm_code(nullptr, 0, "", 0, &code), L0GM_BAD_ARGUMENT);
    after = last_error();
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_EQ(after, "the model is null");
  EXPECT_EQ(last_error(), mine);
}

TEST_F(CApi, LongMessagesAreCutBetweenCharacters) {
  l0gm_model* model = nullptr;
  for (const size_t shift : {0U, 1U, 2U}) {  // ends of the buffer inside a character of three bytes
    std::string name(shift, 'x');
    for (int i = 0; i < 1300; ++i) name += "€";
    EXPECT_EQ(l0gm_load(name.c_str(), nullptr, &model), L0GM_BAD_FILE);
    EXPECT_LT(last_error().size(), 2048U);
    EXPECT_GT(last_error().size(), 2000U);
    EXPECT_FALSE(first_invalid_utf8(last_error()).has_value());
  }
}

TEST_F(CApi, NothingIsAllocatedPerCall) {
  const std::vector<double> numbers(6, 2.0);
  std::vector<int64_t> counts(18, 0);
  const int64_t before = allocation_count();
  for (int i = 0; i < 20; ++i) {
    l0gm_predict_text(model_, nullptr, cells_.data(), nullptr, rows(), probabilities_.data(), counts.data());
    l0gm_predict_text(model_, nullptr, cells_.data(), nullptr, 1, probabilities_.data(), nullptr);
    l0gm_predict_numbers(model_, nullptr, numbers.data(), 1, probabilities_.data(), counts.data());
  }
  EXPECT_EQ(allocation_count(), before);
}

}  // namespace
}  // namespace l0gm
