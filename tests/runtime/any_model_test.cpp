#include "runtime/any_model.h"

#include <gtest/gtest.h>

#include <cstring>

#include "l0gm/c_api.h"
#include "l0gm/runtime.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

const std::string text_file = L0GM_SOURCE_DIR "/tests/runtime/files/version1_text.l0gm";

// A text model behind the same interfaces as a table's.
class TextServed : public testing::Test {
 protected:
  void SetUp() override {
    if (!onednn::obstacle().empty()) GTEST_SKIP() << onednn::obstacle();
    ASSERT_EQ(l0gm_load(text_file.c_str(), nullptr, &model_), L0GM_OK) << l0gm_last_error();
  }
  void TearDown() override { l0gm_free(model_); }
  l0gm_model* model_ = nullptr;
};

TEST_F(TextServed, DescribesItself) {
  EXPECT_EQ(l0gm_column_count(model_), 1U);
  EXPECT_STREQ(l0gm_column_name(model_, 0), "review");
  EXPECT_EQ(l0gm_column_is_numeric(model_, 0), 0);
  EXPECT_EQ(l0gm_class_count(model_), 3U);
  EXPECT_STREQ(l0gm_class_name(model_, 2), "m");
  EXPECT_GT(l0gm_memory_bytes(model_), 1000U);
  EXPECT_NE(std::strstr(l0gm_manifest(model_), "\"kind\":\"text\""), nullptr);
  const CompactModel model = CompactModel::load(text_file);
  EXPECT_EQ(model.columns(), std::vector<std::string>{"review"});
  EXPECT_EQ(model.empty_counts().missing.size(), 1U);
}

TEST_F(TextServed, TextsWhereverTheyLieInARow) {
  const CompactModel model = CompactModel::load(text_file, {.threads = 2, .calibrated = false});
  const std::vector<std::string_view> texts = {"one two three", "", "seven"};
  std::vector<float> wanted(9), found(9);
  InputCounts counts = model.empty_counts();
  model.predict(texts, wanted, nullptr, &counts);
  EXPECT_EQ(counts.missing, std::vector<int64_t>{1});

  const l0gm_options raw{1, -1};
  l0gm_model* uncalibrated = nullptr;
  ASSERT_EQ(l0gm_load(text_file.c_str(), &raw, &uncalibrated), L0GM_OK);
  const char* const names[] = {"id", "review", "more"};
  l0gm_layout* layout = nullptr;
  ASSERT_EQ(l0gm_layout_create(uncalibrated, names, 3, &layout), L0GM_OK) << l0gm_last_error();
  const char* const cells[] = {"1", "one two three", "x", "2", nullptr, "x", "3", "seven", "x"};
  int64_t counted[3] = {0, 0, 5};
  ASSERT_EQ(l0gm_predict_text(uncalibrated, layout, cells, nullptr, 3, found.data(), counted), L0GM_OK) << l0gm_last_error();
  EXPECT_EQ(found, wanted);
  EXPECT_EQ(counted[2], 6);
  EXPECT_EQ(counted[0] + counted[1], 0);
  const RowLayout own = model.layout(std::vector<std::string>{"review", "id"});
  const std::vector<std::string_view> pairs = {"one two three", "1", "", "2", "seven", "3"};
  model.predict(pairs, found, &own);
  EXPECT_EQ(found, wanted);
  l0gm_layout_free(layout);
  l0gm_free(uncalibrated);
}

TEST_F(TextServed, NumbersAndCodesAreRefused) {
  const double numbers[] = {1, 2};
  float p[6];
  int32_t code = 0;
  EXPECT_EQ(l0gm_predict_numbers(model_, nullptr, numbers, 2, p, nullptr), L0GM_BAD_ARGUMENT);
  EXPECT_NE(std::strstr(l0gm_last_error(), "reads texts (column 'review')"), nullptr) << l0gm_last_error();
  EXPECT_EQ(l0gm_code(model_, 0, "one", 3, &code), L0GM_BAD_ARGUMENT);
  EXPECT_NE(std::strstr(l0gm_last_error(), "free text"), nullptr) << l0gm_last_error();
  const CompactModel model = CompactModel::load(text_file);
  EXPECT_NE(message_of<UserError>([&] { model.is_numeric(1); }).find("no column 1"), std::string::npos);
  EXPECT_NE(message_of<UserError>([&] { model.layout(std::vector<std::string>{"reviews"}); }).find("'review'"),
            std::string::npos);
}

}  // namespace
}  // namespace l0gm
