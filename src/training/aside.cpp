#include "training/aside.h"

#include <stdlib.h>

#include <algorithm>
#include <system_error>

#include "base/log_pause.h"
#include "training/run.h"
#include "training/train.h"
#include "training/trainer.h"

namespace l0gm {
namespace {

constexpr int64_t part_of_a_while = 4;  // of the epochs that the run has
constexpr int64_t fewest_steps = 20;    // or as many as the run has

// Where checkpoints are kept, removed with it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "l0gm-aside-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::system_error(errno, std::generic_category(), pattern);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The run itself takes what the dataset holds; until then others may.
class SharedDataset {
 public:
  explicit SharedDataset(Dataset& dataset) : dataset_(dataset), before_(dataset.serves_more_tasks) {
    dataset_.serves_more_tasks = true;
  }
  ~SharedDataset() { dataset_.serves_more_tasks = before_; }
  SharedDataset(const SharedDataset&) = delete;
  SharedDataset& operator=(const SharedDataset&) = delete;

 private:
  Dataset& dataset_;
  bool before_;
};

int64_t epochs_of_a_while(int64_t epochs, int64_t steps_per_epoch) {
  return std::min(epochs, std::max(epochs / part_of_a_while, (fewest_steps + steps_per_epoch - 1) / steps_per_epoch));
}

}  // namespace

std::optional<AsideModel> train_aside(const Modality& modality, const std::shared_ptr<Dataset>& dataset, const Record& record,
                                      const Config& config, const Machine& machine, const std::atomic<bool>& stop, bool a_while) {
  const LogPause what_is_said_of_every_run;
  const SharedDataset shared(*dataset);
  AsideModel aside{config, modality.make_model(record, config, static_cast<uint64_t>(config.train.seed)), nullptr, 0};
  TrainOptions& train = aside.config.train;
  place(*aside.model, machine.device, dtype_of(train.precision));
  aside.task = modality.make_task(dataset, record, aside.model, config, machine);
  if (a_while) train.epochs = epochs_of_a_while(train.epochs, aside.task->steps_per_epoch());
  train.checkpoint_every = static_cast<double>(train.epochs + 1);
  aside.task->label_smoothing = train.label_smoothing;
  const torch::Tensor weights = weights_of_classes(train, record.class_names(), record.rows_of_classes());
  if (weights.defined()) aside.task->class_weights = weights.to(machine.device, dtype_of(train.precision));
  const ScratchFolder scratch;
  const RunFolder folder = RunFolder::create(scratch.path() / "run", std::string(modality.name()));
  Trainer trainer(aside.model, *aside.task, aside.config, folder);
  if (!trainer.run({}, stop)) return std::nullopt;
  copy_into(load_tensors(folder.best()).tensors, aside.model->state(), folder.best().string());
  aside.best_valid_nll = trainer.state().best_nll;
  return aside;
}

}  // namespace l0gm
