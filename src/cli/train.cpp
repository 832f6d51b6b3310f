#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/log.h"
#include "base/progress.h"
#include "cli/command.h"
#include "evaluation/describe.h"
#include "evaluation/evaluate.h"
#include "evaluation/served_pupil.h"
#include "l0gm/error.h"
#include "report/tensorboard.h"
#include "run/run_folder.h"
#include "training/pupil.h"
#include "training/train.h"

namespace l0gm {

namespace {

std::atomic<bool> stop_requested{false};  // what a signal handler may touch: this and the next
std::atomic<int> stop_signal{SIGINT};

void request_stop(int number) {
  stop_signal = number;
  if (!stop_requested.exchange(true)) return;
  std::signal(number, SIG_DFL);  // a second one ends at once
  std::raise(number);
}

class ProgressObserver : public Observer {
 public:
  explicit ProgressObserver(bool lines) : lines_(lines) {}
  void step_finished(int64_t step, int64_t steps, double loss) override {
    if (progress_ == nullptr) progress_ = std::make_unique<Progress>("training", steps, ProgressUnit{"steps", step});
    progress_->update(step, note_.empty() ? fmt::format("loss {:.4f}", loss) : note_);
  }
  void epoch_finished(const EpochRecord& r) override {
    note_ = fmt::format("{}  valid NLL {:.4f}  active {:.1f} %", r.phase, r.valid_nll, 100 * r.active_fraction);
    if (lines_) log_info(fmt::format("epoch {}, step {}, {:.0f} s: {}", r.epoch, r.step, r.seconds, note_));
  }

 private:
  bool lines_;
  std::unique_ptr<Progress> progress_;
  std::string note_;
};

struct TrainArguments {
  std::string config, out;
  std::vector<std::string> assignments;
  int64_t seed = -1;
  bool resume = false, finish = false, tensorboard = false;
  MachineFlags machine;
};

// A word as a shell reads it back.
std::string quoted(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_-./=,:+@%", c) != nullptr;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

// The command that makes this run, or continues it: with every argument that counts, or it would be another configuration.
std::string command_of(const TrainArguments& arguments, bool resume) {
  std::string text =
      fmt::format("l0gm train {} --out {}{}", quoted(arguments.config), quoted(arguments.out), resume ? " --resume" : "");
  for (const std::string& assignment : arguments.assignments) text += " --set " + quoted(assignment);
  if (arguments.seed >= 0) text += fmt::format(" --seed {}", arguments.seed);
  if (arguments.machine.device != "cpu") text += " --device " + quoted(arguments.machine.device);
  if (arguments.machine.threads > 0) text += fmt::format(" --threads {}", arguments.machine.threads);
  if (arguments.machine.deterministic) text += " --deterministic";
  if (arguments.tensorboard) text += " --tensorboard";
  return text;
}

// Settings are tried out before there is a run, and what was tried is not kept. `out`: of the run, or of its pupil.
std::string stopped_message(const TrainArguments& arguments, const std::filesystem::path& out) {
  const auto begun = [](const std::filesystem::path& run) { return RunFolder::is_run(run) && RunFolder::open(run).started(); };
  const std::string command = command_of(arguments, begun(arguments.out));
  if (begun(out)) return "stopped; everything up to here is saved. To end the run here add --finish; go on with: " + command;
  return fmt::format("stopped before {} was begun: nothing of it is kept yet. Start again with: {}", out.string(), command);
}

std::optional<Config> pupil_config(const Config& config, const TrainArguments& arguments, std::vector<std::string> assignments) {
  if (!config.serve.pupil) return std::nullopt;
  const std::vector<std::string> own = pupil_assignments(config.serve, arguments.out);
  assignments.insert(assignments.end(), own.begin(), own.end());
  return read_config(arguments.config, assignments);
}

void run_train(const TrainArguments& arguments, const Common& common) {
  std::vector<std::string> assignments = arguments.assignments;
  if (arguments.seed >= 0) assignments.push_back(fmt::format("train.seed={}", arguments.seed));
  const Config config = read_config(arguments.config, assignments);
  for (const std::string& sentence : unread_options(modality_of(modalities(), config.data), config)) log_warning(sentence);
  const std::optional<Config> pupil =
      pupil_config(config, arguments, assignments);  // what is wrong with it is said before the teacher
  if (arguments.finish && !RunFolder::is_run(arguments.out))
    throw UserError(fmt::format("--finish ends a run that was interrupted, and {} is none.", arguments.out));
  if (arguments.resume && !RunFolder::is_run(arguments.out))
    log_info(fmt::format("--resume: there is no run in {} yet, a new one is started", arguments.out));
  const Machine machine = arguments.machine.prepare();
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  const auto train_one = [&](const Config& what, const std::filesystem::path& out, bool end_here) {
    bool finished = false;
    try {
      ProgressObserver progress(common.progress);
      TensorBoardObserver events(out / "tensorboard");
      std::vector<Observer*> observers = {&progress};
      if (arguments.tensorboard) observers.push_back(&events);
      finished = train(modalities(), what, out, arguments.resume, machine, observers, stop_requested, end_here);
    } catch (const UserError&) {
      RunFolder::remove_if_never_started(out);
      throw;
    }
    if (finished) return evaluate_run(modalities(), out, Split::valid, machine);
    throw Stopped(stopped_message(arguments, out), stop_signal);
  };
  const Evaluation result = train_one(config, arguments.out, arguments.finish);
  nlohmann::json json = result.to_json();
  std::string text = describe(result);
  if (pupil) {
    log_info(fmt::format("{} is trained; its pupil follows, in {}", arguments.out, pupil_folder(arguments.out).string()));
    const std::filesystem::path folder = pupil_folder(arguments.out);
    const Evaluation of_pupil = train_one(*pupil, folder, arguments.finish && RunFolder::is_run(folder));
    json["pupil"] = of_pupil.to_json();
    const ServedPupil served = serve_pupil(arguments.out, result, of_pupil, config, *pupil);
    json["served"] = served.json;
    text += describe(of_pupil) + served.text;
  }
  const std::string and_pupil = pupil ? " " + quoted(pupil_folder(arguments.out).string()) : "";
  print_result(common, json, text + fmt::format("next: l0gm eval {}{}\n", quoted(arguments.out), and_pupil));
}

}  // namespace

void add_train(CLI::App& app, const Common& common) {
  auto arguments = std::make_shared<TrainArguments>();
  CLI::App* verb = app.add_subcommand("train", "train a model into a run folder");
  verb->add_option("config", arguments->config, "configuration (TOML)")->required();
  verb->add_option("-o,--out", arguments->out, "folder of the run; must not exist yet")->required();
  verb->add_option("--set", arguments->assignments, "key=value, overrides the configuration; may be repeated");
  verb->add_option("--seed", arguments->seed, "same as --set train.seed=N")->check(CLI::NonNegativeNumber);
  CLI::Option* resume = verb->add_flag("--resume", arguments->resume, "go on where an interrupted run stopped");
  verb->add_flag("--finish", arguments->finish, "end it there: its last checkpoint becomes a run that can be used")
      ->needs(resume);
  verb->add_flag("--tensorboard", arguments->tensorboard,
                 "also write event files into RUN/tensorboard/, for `tensorboard --logdir RUN`");
  arguments->machine.add_to(*verb);
  Config defaults;
  verb->footer("Options of the configuration (reference page: docs/options.md):\n" + OptionList::of(defaults).help());
  verb->callback([arguments, &common] { run_train(*arguments, common); });
}

}  // namespace l0gm
