#include "runtime/file_predictor.h"

#include <gtest/gtest.h>

#include "l0gm/runtime.h"
#include "runtime/sample_model.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

using namespace testing_tools;

TEST(FilePredictor, AgreesWithTheModel) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "m.l0gm";
  const CompactHeader header = sample_header(full_sample());
  write_compact(path, header, sample_net(header.schema, full_sample()));
  for (const bool calibrated : {false, true}) {
    const FilePredictor predictor(path, calibrated);
    EXPECT_TRUE(predictor.concurrent());
    EXPECT_EQ(predictor.delimiter(), ';');
    EXPECT_FALSE(predictor.columns_name_rows());
    EXPECT_TRUE(predictor.known_rows().empty());
    const CompactModel model = CompactModel::load(path, {.threads = 1, .calibrated = calibrated});
    std::vector<float> probabilities(sample_rows().size() * 3);
    ASSERT_EQ(predictor.columns().size(), 6U);
    EXPECT_EQ(predictor.columns(), model.columns());
    EXPECT_EQ(predictor.classes(), model.classes());
    InputCounts counts = predictor.empty_counts();
    predictor.predict({flat(sample_rows()), std::ssize(sample_rows())}, probabilities, counts);
    InputCounts wanted = model.empty_counts();
    std::vector<float> wanted_probabilities(probabilities.size());
    model.predict(flat(sample_rows()), wanted_probabilities, nullptr, &wanted);
    EXPECT_EQ(probabilities, wanted_probabilities);
    EXPECT_EQ(counts.unseen, wanted.unseen);
    EXPECT_EQ(counts.missing, wanted.missing);
    EXPECT_EQ(counts.unreadable, wanted.unreadable);
  }
}

TEST(FilePredictor, GivesTheOtherProbabilitiesFromTheSameWeights) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "m.l0gm";
  CompactHeader header = sample_header(full_sample());
  write_compact(path, header, sample_net(header.schema, full_sample()));
  const auto probabilities_of = [](const Predictor& predictor) {
    std::vector<float> probabilities(sample_rows().size() * 3);
    InputCounts counts = predictor.empty_counts();
    predictor.predict({flat(sample_rows()), std::ssize(sample_rows())}, probabilities, counts);
    return probabilities;
  };
  const FilePredictor raw(path, false), calibrated(path, true);
  EXPECT_EQ(probabilities_of(*raw.with_calibration(true)), probabilities_of(calibrated));
  EXPECT_EQ(probabilities_of(*calibrated.with_calibration(false)), probabilities_of(raw));
  EXPECT_TRUE(raw.with_calibration(true)->is_calibrated());
  header.calibrator = {};
  write_compact(path, header, sample_net(header.schema, full_sample()));
  EXPECT_EQ(FilePredictor(path, false).with_calibration(true), nullptr);
}

}  // namespace
}  // namespace l0gm
