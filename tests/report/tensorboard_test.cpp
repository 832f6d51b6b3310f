#include "report/tensorboard.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

EpochRecord record(int64_t step, bool gated) {
  EpochRecord made;
  made.step = step;
  if (gated) made.gates = {gate_histogram("layer1", std::vector<double>{0.1, 0.9})};
  return made;
}

std::string events_in(const fs::path& folder) {
  std::string all;
  for (const auto& entry : fs::directory_iterator(folder)) all += read_file(entry.path());
  return all;
}

TEST(TensorBoardObserver, WritesScalarsAndHistograms) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "run/tensorboard";
  TensorBoardObserver observer(path);
  EXPECT_FALSE(fs::exists(path)) << "the run's folder is not there yet";
  observer.step_finished(1, 10, 0.5);
  observer.epoch_finished(record(1, true));
  const std::string all = events_in(path);
  for (const char* tag : {"loss/step", "loss/train", "loss/valid_nll", "gate/tau", "gate/lambda", "gate/mu",
                          "gate/active_fraction", "gate/expected_active_fraction", "gate/layer1/open_probability"}) {
    EXPECT_NE(all.find(tag), all.npos) << tag;
  }
  EXPECT_EQ(all.find("\x3a\x02\x08\x01"), all.npos) << "a new run is no restart";
}

TEST(TensorBoardObserver, ADenseRunHasNoGates) {
  const TemporaryFolder folder;
  TensorBoardObserver observer(folder.path());
  observer.epoch_finished(record(1, false));
  EXPECT_EQ(events_in(folder.path()).find("gate/"), std::string::npos);
}

TEST(TensorBoardObserver, AResumedRunTakesBackWhatFollowed) {
  const TemporaryFolder folder;
  TensorBoardObserver observer(folder.path());
  observer.step_finished(7, 10, 0.5);
  EXPECT_NE(events_in(folder.path()).find(restart_event(0, 7).substr(9)), std::string::npos);
}

TEST(TensorBoardObserver, LongRunsAreThinned) {
  const TemporaryFolder folder;
  TensorBoardObserver observer(folder.path());
  for (int64_t step = 1; step <= 20000; ++step) observer.step_finished(step, 20000, 0.5);
  EXPECT_LT(events_in(folder.path()).size(), 2100u * 60);
}

}  // namespace
}  // namespace l0gm
