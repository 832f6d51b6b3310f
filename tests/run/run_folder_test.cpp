#include "run/run_folder.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mutex>
#include <set>

#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace {
std::mutex synced_lock;
std::vector<std::string> synced;  // names of files given to fsync, in order
}  // namespace

// Instead of the C library's.
extern "C" int fsync(int descriptor) {
  char name[4096];
  const ssize_t size = ::readlink(("/proc/self/fd/" + std::to_string(descriptor)).c_str(), name, sizeof(name));
  if (size > 0) {
    const std::lock_guard hold(synced_lock);
    synced.emplace_back(name, static_cast<size_t>(size));
  }
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace l0gm {
namespace {

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class RunFolders : public testing::Test {
 protected:
  std::string refusal() {
    return message_of<UserError>([&] { RunFolder::open(path_); });
  }
  // run.json with one value changed.
  void change(const std::string& key, const nlohmann::json& value) {
    nlohmann::json record = nlohmann::json::parse(read_file(path_ / "run.json"));
    record[key] = value;
    write_file_atomically(path_ / "run.json", record.dump());
  }
  EpochRecord epoch(int64_t number) {
    EpochRecord record;
    record.epoch = number;
    record.step = 10 * number;
    record.phase = "anneal";
    record.tau = 0.1;
    record.valid_nll = 1.0 / 3;
    return record;
  }
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "deep" / "run";
};

TEST_F(RunFolders, CreatesOpensAndFinishes) {
  EXPECT_FALSE(RunFolder::is_run(path_));
  RunFolder made = RunFolder::create(path_, "table");
  made.write_sealed(made.config(), "[train]\n");
  EXPECT_TRUE(RunFolder::is_run(path_));
  EXPECT_FALSE(RunFolder::open(path_).finished());
  made.set_finished();
  const RunFolder opened = RunFolder::open(path_);
  EXPECT_TRUE(opened.finished());
  EXPECT_NO_THROW(opened.require_finished());
  EXPECT_EQ(read_file(opened.config()), "[train]\n");
  EXPECT_TRUE(std::filesystem::is_directory(path_ / "checkpoint"));
  EXPECT_TRUE(std::filesystem::is_directory(path_ / "predictions"));
  EXPECT_EQ(opened.predictions(Split::valid), path_ / "predictions" / "valid.csv");
  EXPECT_EQ(opened.evaluation(Split::test), path_ / "evaluation" / "test.json");
}

TEST_F(RunFolders, SayWhichModalityTheyAreOf) {
  RunFolder::create(path_, "graph");
  EXPECT_EQ(RunFolder::open(path_).modality(), "graph");
  nlohmann::json record = nlohmann::json::parse(read_file(path_ / "run.json"));
  record.erase("modality");
  write_file_atomically(path_ / "run.json", record.dump());
  EXPECT_EQ(RunFolder::open(path_).modality(), "") << "written before runs said it";
}

TEST_F(RunFolders, NeverOverwrites) {
  RunFolder::create(path_, "table").set_started();
  EXPECT_TRUE(contains(message_of<UserError>([&] { RunFolder::create(path_, "table"); }), "already holds a run"));
  folder_.write("other/notes.txt", "mine");
  const std::string message = message_of<UserError>([&] { RunFolder::create(folder_.path() / "other", "table"); });
  EXPECT_TRUE(contains(message, "is not a run")) << message;
  EXPECT_TRUE(contains(message_of<UserError>([&] { RunFolder::create(folder_.path() / "other" / "notes.txt", "table"); }),
                       "is not a run"));
  EXPECT_EQ(read_file(folder_.path() / "other" / "notes.txt"), "mine");
  std::filesystem::create_directories(folder_.path() / "empty");
  EXPECT_NO_THROW(RunFolder::create(folder_.path() / "empty", "table"));
}

TEST_F(RunFolders, CannotBeCreatedBelowAFile) {
  folder_.write("file", "");
  EXPECT_TRUE(contains(message_of<UserError>([&] { RunFolder::create(folder_.path() / "file" / "run", "table"); }), "file/run"));
}

TEST_F(RunFolders, ACreationThatWasKilledCanBeRepeated) {
  std::filesystem::create_directories(path_ / "checkpoint");
  std::filesystem::create_directories(path_ / "predictions");
  folder_.write("deep/run/.l0gm-17-0.tmp", "{\"form");
  EXPECT_NO_THROW(RunFolder::create(path_, "table"));
  EXPECT_FALSE(RunFolder::open(path_).started());
  RunFolder again = RunFolder::create(path_, "table");  // run.json was there, training never began
  again.set_started();
  EXPECT_TRUE(RunFolder::open(path_).started());
  EXPECT_THROW(RunFolder::create(path_, "table"), UserError);
  folder_.write("second/checkpoint/weights", "mine");
  EXPECT_THROW(RunFolder::create(folder_.path() / "second", "table"), UserError);
}

TEST_F(RunFolders, WhatWasNeverStartedCanBeRemovedAndNothingElse) {
  {
    RunFolder folder = RunFolder::create(path_, "table");
    folder.lock();
    RunFolder::remove_if_never_started(path_);
    EXPECT_TRUE(RunFolder::is_run(path_)) << "it is in use";
  }
  RunFolder::remove_if_never_started(path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
  RunFolder::create(path_, "table").set_started();
  RunFolder::remove_if_never_started(path_);
  EXPECT_TRUE(RunFolder::is_run(path_));
  folder_.write("second/mine", "");
  RunFolder::remove_if_never_started(folder_.path() / "second");
  EXPECT_TRUE(std::filesystem::exists(folder_.path() / "second" / "mine"));
}

TEST_F(RunFolders, OpensOnlyRuns) {
  EXPECT_TRUE(contains(refusal(), "does not exist"));
  std::filesystem::create_directories(path_);
  EXPECT_TRUE(contains(refusal(), "has no run.json"));
}

TEST_F(RunFolders, DamagedRecords) {
  RunFolder::create(path_, "table");
  const std::string good = read_file(path_ / "run.json");
  for (size_t length = 0; length + 2 < good.size(); length += 7) {
    write_file_atomically(path_ / "run.json", good.substr(0, length));
    EXPECT_TRUE(contains(refusal(), "damaged")) << length;
  }
  for (const char* text :
       {"[]", "3", "null", "{}", "\xff\xfe", "{\"format\": \"1\", \"sealed\": {}, \"state\": \"training\"}",
        "{\"format\": 2, \"sealed\": [], \"state\": \"training\"}", "{\"format\": 2, \"sealed\": {}, \"state\": 1}"}) {
    write_file_atomically(path_ / "run.json", text);
    EXPECT_TRUE(contains(refusal(), "damaged")) << text;
  }
}

TEST_F(RunFolders, NewerFormat) {
  RunFolder::create(path_, "table");
  change("format", RunFolder::format_version + 1);
  const std::string message = refusal();
  EXPECT_TRUE(contains(message, "newer l0gm")) << message;
  EXPECT_TRUE(contains(message, std::to_string(RunFolder::format_version + 1))) << message;
}

TEST_F(RunFolders, SealedFilesMayNotChange) {
  RunFolder made = RunFolder::create(path_, "table");
  made.write_sealed(made.schema(), "{}");
  write_file_atomically(made.schema(), "{} ");
  EXPECT_TRUE(contains(refusal(), "schema.json was altered or lost"));
  write_file_atomically(made.schema(), "{}");
  EXPECT_NO_THROW(RunFolder::open(path_));
  std::filesystem::remove(made.schema());
  EXPECT_TRUE(contains(refusal(), "schema.json was altered or lost"));
  change("sealed", {{"schema.json", 5}});
  EXPECT_TRUE(contains(refusal(), "schema.json was altered or lost"));
}

TEST_F(RunFolders, OneProcessAtATime) {
  RunFolder first = RunFolder::create(path_, "table");
  first.lock();
  {
    RunFolder second = RunFolder::open(path_);
    EXPECT_TRUE(contains(message_of<UserError>([&] { second.lock(); }), "in use by another process"));
  }
  {
    const RunFolder released = std::move(first);
  }
  RunFolder third = RunFolder::open(path_);
  EXPECT_NO_THROW(third.lock());
}

TEST_F(RunFolders, UnfinishedRunsSayHowToGoOn) {
  const RunFolder made = RunFolder::create(path_, "table");
  const std::string message = message_of<UserError>([&] { made.require_finished(); });
  EXPECT_TRUE(contains(message, "--out " + path_.string() + " --resume")) << message;
}

TEST_F(RunFolders, MetricsLines) {
  const RunFolder made = RunFolder::create(path_, "table");
  for (int64_t i = 1; i <= 3; ++i) made.append_metrics(epoch(i));
  std::istringstream text(read_file(made.metrics()));
  std::string line;
  std::getline(text, line);
  EXPECT_TRUE(line.starts_with(R"({"step":10,"epoch":1,"phase":"anneal","tau":0.1,)")) << line;
  const nlohmann::json first = nlohmann::json::parse(line);
  std::set<std::string> keys;
  for (const auto& [key, unused] : first.items()) keys.insert(key);
  EXPECT_EQ(keys, (std::set<std::string>{"step", "epoch", "phase", "tau", "lambda", "mu", "train_loss", "valid_nll",
                                         "active_fraction", "expected_active_fraction", "seconds"}));
  EXPECT_EQ(first["valid_nll"].get<double>(), 1.0 / 3);
}

// A checkpoint that is on the disk counts lines that are there as well, whatever is lost afterwards.
TEST_F(RunFolders, MetricsAreOnTheDiskWhenTheyAreAppended) {
  const RunFolder made = RunFolder::create(path_, "table");
  synced.clear();
  made.append_metrics(epoch(1));
  const std::string folder = std::filesystem::canonical(path_).string();
  EXPECT_EQ(synced, (std::vector<std::string>{folder + "/metrics.jsonl", folder})) << "the new name, too";
  made.append_metrics(epoch(2));
  ASSERT_EQ(synced.size(), 3u);
  EXPECT_EQ(synced.back(), folder + "/metrics.jsonl");
}

TEST_F(RunFolders, MetricsBehindACheckpointAreDropped) {
  const RunFolder made = RunFolder::create(path_, "table");
  EXPECT_NO_THROW(made.keep_metrics(0));  // there is no file yet
  made.append_metrics(epoch(1));
  const std::string one = read_file(made.metrics());
  made.append_metrics(epoch(2));
  write_file_atomically(made.metrics(), read_file(made.metrics()) + "{\"step\": 3");  // killed while it wrote
  made.keep_metrics(1);
  EXPECT_EQ(read_file(made.metrics()), one);
  EXPECT_TRUE(contains(message_of<UserError>([&] { made.keep_metrics(2); }), "fewer lines"));
  made.keep_metrics(0);
  EXPECT_EQ(read_file(made.metrics()), "");
}

TEST_F(RunFolders, GatesAreAFileOfTheirOwnThatEndsWhereMetricsEnd) {
  const RunFolder made = RunFolder::create(path_, "table");
  made.append_metrics(epoch(1));
  EXPECT_FALSE(std::filesystem::exists(made.gate_history())) << "of a dense model";
  for (int64_t i = 2; i <= 3; ++i) {
    EpochRecord record = epoch(i);
    record.gates = {{.site = "interface", .counts = {i, 4}}};
    made.append_metrics(record);
  }
  const std::string second = R"({"step":20,"sites":{"interface":[2,4]}})"
                             "\n";
  EXPECT_EQ(read_file(made.gate_history()), second + R"({"step":30,"sites":{"interface":[3,4]}})"
                                                     "\n");
  write_file_atomically(made.gate_history(), read_file(made.gate_history()) + "{\"step\": 4");  // killed while it wrote
  made.keep_metrics(3);
  EXPECT_EQ(read_file(made.gate_history()), second + R"({"step":30,"sites":{"interface":[3,4]}})"
                                                     "\n");
  made.keep_metrics(2);
  EXPECT_EQ(read_file(made.gate_history()), second);
  made.keep_metrics(0);
  EXPECT_EQ(read_file(made.gate_history()), "");
}

TEST_F(RunFolders, JsonFiles) {
  const RunFolder made = RunFolder::create(path_, "table");
  made.write_json(made.summary(), {{"a", 0.1}});
  EXPECT_EQ(made.read_json(made.summary())["a"], 0.1);
  write_file_atomically(made.summary(), "{\"a\": 0.");
  EXPECT_TRUE(contains(message_of<UserError>([&] { made.read_json(made.summary()); }), "summary.json is damaged"));
  EXPECT_TRUE(contains(message_of<UserError>([&] { made.read_json(made.environment()); }), "environment.json"));
}

}  // namespace
}  // namespace l0gm
