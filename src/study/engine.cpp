#include "study/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <set>
#include <thread>

#include "base/files.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "study/child_process.h"
#include "study/devices.h"
#include "study/stop_signal.h"

namespace l0gm {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto look_every = std::chrono::milliseconds(20);
constexpr double patience_s = 5;  // with a lock that the worker of a study which was just killed may still hold

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::string in_words(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

// The last thing that the program said of an error.
std::string last_error(const fs::path& log) {
  std::string found;
  const std::string text = fs::exists(log) ? read_file(log) : "";
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = trim(std::string_view(text).substr(begin, end - begin));
    if (line.starts_with("error: ")) found = line.substr(7);
    begin = end + 1;
  }
  return found;
}

struct Work {
  enum class State { waiting, running, done, failed, elsewhere };
  StudyCell cell;
  State state = State::waiting;
  std::string reason;
  bool ours = true;                          // of this shard
  std::optional<Clock::time_point> refused;  // since when another process holds it
  std::unique_ptr<FileLock> lock;
  std::unique_ptr<ChildProcess> child;
  size_t step = 0;
  size_t slot = 0;
  Clock::time_point begin;
};

// Two tables may want the same run, judged in other ways.
void add_steps(StudyCell& cell, const StudyCell& further) {
  for (const Step& step : further.steps) {
    const auto same = [&](const Step& known) { return known.name == step.name; };
    if (std::none_of(cell.steps.begin(), cell.steps.end(), same)) cell.steps.push_back(step);
  }
}

class Engine {
 public:
  Engine(const std::vector<StudyCell>& cells, const StudyFolder& folder, const Workers& workers)
      : folder_(folder),
        workers_(workers),
        slots_(static_cast<size_t>(workers.count), false),
        program_(fs::read_symlink("/proc/self/exe")) {
    std::map<std::string, int64_t> group;  // cells that need each other are of one shard
    int64_t groups = 0;
    for (const StudyCell& cell : cells) {
      if (const auto known = places_.find(cell.key); known != places_.end()) {
        add_steps(works_[known->second].cell, cell);
        continue;
      }
      places_[cell.key] = works_.size();
      Work& work = works_.emplace_back();
      work.cell = cell;
      const bool follows = !cell.needs.empty() && group.contains(cell.needs[0]);
      group[cell.key] = follows ? group[cell.needs[0]] : groups++;
      work.ours = group[cell.key] % workers.shards == workers.shard - 1;
    }
    for (Work& work : works_) {
      if (folder.done(work.cell)) work.state = Work::State::done;
    }
  }

  Outcome run() {
    const StopSignal stop_signal;
    const auto to_do = count(Work::State::waiting);
    if (to_do < static_cast<int64_t>(works_.size())) {
      log_info(fmt::format("{} of {} cells are there already", works_.size() - static_cast<size_t>(to_do), works_.size()));
    }
    Progress progress("cells", static_cast<int64_t>(works_.size()));
    while (count(Work::State::waiting) + count(Work::State::running) > 0) {
      if (StopSignal::received() != 0) stop();
      for (Work& work : works_) {
        if (work.state == Work::State::waiting) begin(work);
        if (work.state == Work::State::running && work.child->finished()) end_of_step(work);
      }
      progress.update(static_cast<int64_t>(works_.size()) - count(Work::State::waiting) - count(Work::State::running),
                      time_left());
      std::this_thread::sleep_for(look_every);
    }
    return outcome();
  }

 private:
  int64_t count(Work::State state) const {
    return std::count_if(works_.begin(), works_.end(), [&](const Work& work) { return work.state == state; });
  }

  void fail(Work& work, const std::string& reason) {
    work.state = Work::State::failed;
    work.reason = reason;
    log_warning(fmt::format("{}: {}", work.cell.label, reason));
  }

  // Whether all that the cell needs is done; decides on the cell where it never will be.
  bool ready(Work& work) {
    for (const std::string& key : work.cell.needs) {
      const auto place = places_.find(key);
      if (place == places_.end())
        throw std::logic_error(fmt::format("{} needs the cell {}, which is not of the study", work.cell.label, key));
      const Work& needed = works_[place->second];
      if (needed.state == Work::State::failed) {
        fail(work, fmt::format("it needs '{}', which failed", needed.cell.label));
        return false;
      }
      if (needed.state == Work::State::elsewhere) work.state = Work::State::elsewhere;
      if (needed.state != Work::State::done) return false;
    }
    return true;
  }

  void begin(Work& work) {
    if (!work.ours) {
      work.state = Work::State::elsewhere;
      return;
    }
    const auto free = std::find(slots_.begin(), slots_.end(), false);
    if (free == slots_.end() || !ready(work)) return;
    const fs::path cell = folder_.cell(work.cell.key);
    fs::create_directories(cell);
    work.lock = FileLock::try_take(cell / "lock");
    if (!work.lock) {
      if (!work.refused) work.refused = Clock::now();
      if (seconds_since(*work.refused) > patience_s) work.state = Work::State::elsewhere;
      return;
    }
    if (folder_.done(work.cell)) {  // by another process, meanwhile
      finish(work, Work::State::done);
      return;
    }
    work.begin = Clock::now();
    work.slot = static_cast<size_t>(free - slots_.begin());
    slots_[work.slot] = true;
    work.state = Work::State::running;
    nlohmann::json steps = nlohmann::json::array();
    for (const Step& step : work.cell.steps) steps.push_back(join(words_of(work, step), " "));
    write_file_atomically(cell / "cell.json", nlohmann::json{{"label", work.cell.label}, {"commands", steps}}.dump(1) + "\n");
    work.step = 0;
    begin_step(work);
  }

  std::vector<std::string> words_of(const Work& work, const Step& step) const {
    std::vector<std::string> words;
    for (const std::string& given : step.words) {
      std::string word = given;
      const auto replace = [&](const std::string& name, const std::string& value) {
        for (size_t at = word.find(name); at != std::string::npos; at = word.find(name, at + value.size()))
          word.replace(at, name.size(), value);
      };
      replace("{l0gm}", program_.string());
      replace("{cell}", folder_.cell(work.cell.key).string());
      replace("{threads}", std::to_string(workers_.threads));
      replace("{device}", workers_.device);
      for (const std::string& key : work.cell.needs) replace("{cell:" + key + "}", folder_.cell(key).string());
      words.push_back(word);
    }
    return words;
  }

  void begin_step(Work& work) {
    const std::vector<Step>& steps = work.cell.steps;
    while (work.step < steps.size() && fs::exists(folder_.product(work.cell.key, steps[work.step].name))) ++work.step;
    if (work.step == steps.size()) {
      finish(work, Work::State::done);
      return;
    }
    const fs::path cell = folder_.cell(work.cell.key), log = cell / "log.txt";
    const std::vector<std::string> words = words_of(work, steps[work.step]);
    append_to_file(log, "$ " + join(words, " ") + "\n");
    std::map<std::string, std::string> environment = {{"OMP_NUM_THREADS", std::to_string(workers_.threads)}};
    if (workers_.device != "cpu") environment["CUDA_VISIBLE_DEVICES"] = device_of_worker(work.slot);
    work.child = std::make_unique<ChildProcess>(
        ChildProcess::start(words, environment, cell / (steps[work.step].name + ".out"), log, work.lock->descriptor()));
  }

  void end_of_step(Work& work) {
    const Step& step = work.cell.steps[work.step];
    const fs::path cell = folder_.cell(work.cell.key), printed = cell / (step.name + ".out");
    const int code = work.child->exit_code();
    work.child.reset();
    const nlohmann::json result = code == 0 ? nlohmann::json::parse(read_file(printed), nullptr, false) : nlohmann::json();
    if (code != 0 || !result.is_object()) {
      const std::string error = last_error(cell / "log.txt");
      const std::string what = code == 128 + SIGKILL ? "was killed (out of memory?)"
                               : code != 0           ? fmt::format("ended with exit status {}", code)
                                                     : "printed no JSON object";
      finish(work, Work::State::waiting);
      fail(work, fmt::format("`{}` {}{}; its messages are in {}", step.name, what, error.empty() ? "" : ": " + error,
                             (cell / "log.txt").string()));
      return;
    }
    write_file_atomically(folder_.product(work.cell.key, step.name), result.dump(1) + "\n");
    fs::remove(printed);
    begin_step(work);
  }

  void finish(Work& work, Work::State state) {
    const bool ran = work.state == Work::State::running;
    work.state = state;
    work.lock.reset();
    if (!ran) return;
    slots_[work.slot] = false;
    if (state != Work::State::done) return;
    spent_s_ += seconds_since(work.begin);
    ++finished_;
    const std::string left = time_left();
    log_info(fmt::format("{} of {} cells: {} took {}{}", count(Work::State::done), works_.size(), work.cell.label,
                         in_words(seconds_since(work.begin)), left.empty() ? "" : "; " + left));
  }

  // From what the cells took that were finished here.
  std::string time_left() const {
    const auto left = static_cast<double>(std::count_if(works_.begin(), works_.end(), [](const Work& work) {
      return work.ours && (work.state == Work::State::waiting || work.state == Work::State::running);
    }));
    if (finished_ == 0 || left == 0) return "";
    const double at_a_time = std::min(left, static_cast<double>(workers_.count));
    return "about " + in_words(spent_s_ / static_cast<double>(finished_) * left / at_a_time) + " left";
  }

  [[noreturn]] void stop() {
    log_info("stopping: workers save what they have");
    for (Work& work : works_) {
      if (work.state == Work::State::running) work.child->send(SIGTERM);
    }
    for (Work& work : works_) {
      while (work.state == Work::State::running && !work.child->finished()) std::this_thread::sleep_for(look_every);
    }
    throw Stopped("stopped; the same command goes on from here", StopSignal::received());
  }

  Outcome outcome() const {
    Outcome out;
    for (const Work& work : works_) {
      if (work.state == Work::State::done) out.done.push_back(work.cell.key);
      if (work.state == Work::State::failed) out.failed.emplace_back(work.cell.key, work.reason);
      if (work.state == Work::State::elsewhere) out.elsewhere.push_back(work.cell.key);
    }
    return out;
  }

  const StudyFolder& folder_;
  const Workers workers_;
  std::vector<Work> works_;
  std::map<std::string, size_t> places_;
  std::vector<bool> slots_;
  fs::path program_;
  double spent_s_ = 0;
  int64_t finished_ = 0;
};

}  // namespace

void Workers::settle(int64_t cores, int64_t devices) {
  if (count == 0)
    count = device == "cpu" ? (threads > 0 ? std::max<int64_t>(1, cores / threads) : cores) : std::max<int64_t>(1, devices);
  if (threads == 0) threads = std::max<int64_t>(1, cores / count);
}

void read_shard(const std::string& text, Workers& workers) {
  const size_t slash = text.find('/');
  const int64_t shard = parse_integer(text.substr(0, slash)).value_or(0);
  const int64_t shards = slash == std::string::npos ? 0 : parse_integer(text.substr(slash + 1)).value_or(0);
  if (shard < 1 || shard > shards) {
    throw UserError(fmt::format("--shard is '{}', wanted i/n with i from 1 to n, such as 2/4: the second of four", text));
  }
  workers.shard = shard;
  workers.shards = shards;
}

void Outcome::add(const Outcome& further) {
  const auto forget = [&](const std::string& key) {
    std::erase(done, key);
    std::erase(elsewhere, key);
    std::erase_if(failed, [&](const auto& item) { return item.first == key; });
  };
  for (const std::string& key : further.done) forget(key);
  for (const std::string& key : further.elsewhere) forget(key);
  for (const auto& item : further.failed) forget(item.first);
  done.insert(done.end(), further.done.begin(), further.done.end());
  elsewhere.insert(elsewhere.end(), further.elsewhere.begin(), further.elsewhere.end());
  failed.insert(failed.end(), further.failed.begin(), further.failed.end());
}

std::string Outcome::summary(const std::vector<StudyCell>& cells) const {
  const auto label = [&](const std::string& key) {
    return std::find_if(cells.begin(), cells.end(), [&](const StudyCell& cell) { return cell.key == key; })->label;
  };
  std::string text;
  for (const auto& [key, reason] : failed) text += fmt::format("failed: {}: {}\n", label(key), reason);
  if (!elsewhere.empty()) {
    std::vector<std::string> names;
    for (const std::string& key : elsewhere) names.push_back(label(key));
    text += fmt::format("not here yet, of other shards or being computed by another process: {}\n", list_some(names, 6));
  }
  return text;
}

Outcome run_cells(const std::vector<StudyCell>& cells, const StudyFolder& folder, Workers workers) {
  workers.settle(core_count(), workers.device == "cpu" ? 0 : device_count());
  fs::create_directories(folder.path() / "cells");
  return Engine(cells, folder, workers).run();
}

}  // namespace l0gm
