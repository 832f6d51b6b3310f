#include "study/engine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>
#include <thread>

#include "base/files.h"
#include "base/log.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override { set_log_level(LogLevel::quiet); }
  void TearDown() override { set_log_level(LogLevel::normal); }

  // A cell that notes when it begins and ends, and prints a JSON object.
  StudyCell noting(const std::string& name, const std::string& also = "true", std::vector<std::string> needs = {}) const {
    const std::string script =
        fmt::format("echo 'begin {0}' >> '{1}'; {2}; echo '{{\"name\": \"{0}\"}}'; echo 'end {0}' >> '{1}'", name,
                    notes().string(), also);
    return {name, "key-" + name, {{"made", {"/bin/sh", "-e", "-c", script}}}, std::move(needs)};
  }
  std::filesystem::path notes() const { return folder_.path() / "notes"; }
  std::vector<std::string> noted() const {
    std::vector<std::string> lines;
    std::istringstream text(std::filesystem::exists(notes()) ? read_file(notes()) : "");
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  size_t begun() const {
    const auto lines = noted();
    return static_cast<size_t>(
        std::count_if(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("begin"); }));
  }

  TemporaryFolder folder_;
  StudyFolder study_{folder_.path() / "study"};
  Workers two_{.count = 2, .threads = 1};
};

TEST_F(EngineTest, RunsEachCellOnceAndKeepsIt) {
  const std::vector<StudyCell> cells{noting("a"), noting("b"), noting("a"), noting("c")};
  const Outcome outcome = run_cells(cells, study_, two_);
  EXPECT_TRUE(outcome.complete());
  EXPECT_EQ(outcome.done, (std::vector<std::string>{"key-a", "key-b", "key-c"}));
  EXPECT_EQ(begun(), 3U);
  EXPECT_EQ(study_.result("key-b", "made").at("name"), "b");
  EXPECT_TRUE(run_cells(cells, study_, two_).complete());
  EXPECT_EQ(begun(), 3U);
  EXPECT_EQ(outcome.summary(cells), "");
}

TEST_F(EngineTest, CellsOfOneKeyAreOneWithTheStepsOfAll) {
  StudyCell more = noting("a");
  more.steps.push_back({"further", {"/bin/echo", "{\"more\": 1}"}});
  EXPECT_TRUE(run_cells({noting("a"), more}, study_, two_).complete());
  EXPECT_EQ(begun(), 1U);
  EXPECT_EQ(study_.result("key-a", "further").at("more"), 1);
}

TEST_F(EngineTest, ReportsWhatFailsAndGoesOn) {
  const std::vector<StudyCell> cells{noting("a", "echo 'error: no such column' >&2; exit 2"), noting("b"),
                                     noting("c", "true", {"key-a"}), noting("d", "true", {"key-c"})};
  const Outcome outcome = run_cells(cells, study_, two_);
  EXPECT_EQ(outcome.done, std::vector<std::string>{"key-b"});
  ASSERT_EQ(outcome.failed.size(), 3U);
  EXPECT_NE(outcome.failed[0].second.find("exit status 2: no such column"), std::string::npos) << outcome.failed[0].second;
  EXPECT_NE(outcome.failed[1].second.find("needs 'a', which failed"), std::string::npos);
  EXPECT_NE(outcome.failed[2].second.find("needs 'c', which failed"), std::string::npos);
  EXPECT_NE(read_file(study_.cell("key-a") / "log.txt").find("no such column"), std::string::npos);
  EXPECT_NE(outcome.summary(cells).find("failed: a:"), std::string::npos);
  // What was wrong is mended: the same study goes on.
  const std::vector<StudyCell> mended{noting("a"), noting("b"), noting("c", "true", {"key-a"}), noting("d", "true", {"key-c"})};
  EXPECT_TRUE(run_cells(mended, study_, two_).complete());
}

TEST_F(EngineTest, RefusesWhatIsNoJson) {
  const Outcome outcome = run_cells({{"x", "key-x", {{"made", {"/bin/sh", "-c", "echo half {"}}}, {}}}, study_, two_);
  ASSERT_EQ(outcome.failed.size(), 1U);
  EXPECT_NE(outcome.failed[0].second.find("printed no JSON object"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(study_.product("key-x", "made")));
}

TEST_F(EngineTest, WaitsForWhatACellNeeds) {
  run_cells({noting("late", "true", {"key-early"}), noting("early", "sleep 0.2")}, study_, two_);
  EXPECT_EQ(noted(), (std::vector<std::string>{"begin early", "end early", "begin late", "end late"}));
}

TEST_F(EngineTest, StepsFollowEachOtherAndAreNotRepeated) {
  const std::string count = fmt::format("echo step >> '{}'", notes().string());
  StudyCell cell{"steps",
                 "key-s",
                 {{"first", {"/bin/sh", "-c", count + "; echo '{}'"}}, {"second", {"/bin/sh", "-c", "exit 1"}}},
                 {}};
  EXPECT_FALSE(run_cells({cell}, study_, two_).complete());
  cell.steps[1].words = {"/bin/sh", "-c", "cat \"$0/first.json\"", "{cell}"};
  EXPECT_TRUE(run_cells({cell}, study_, two_).complete());
  EXPECT_EQ(noted().size(), 1U);
  EXPECT_EQ(study_.result("key-s", "second"), nlohmann::json::object());
}

TEST_F(EngineTest, FillsInPlacesAndThreads) {
  const StudyCell first{"first", "key-f", {{"made", {"/bin/echo", "{}"}}}, {}};
  const StudyCell second{"second",
                         "key-g",
                         {{"made", {"/bin/echo", R"(["{cell}", "{cell:key-f}", "{threads}", "{device}"])"}}},
                         {"key-f"}};
  const StudyCell object{
      "object",
      "key-h",
      {{"made", {"/bin/echo", R"({"cell": "{cell}", "other": "{cell:key-f}", "threads": {threads}, "device": "{device}"})"}}},
      {"key-f"}};
  const Outcome outcome = run_cells({first, second, object}, study_, Workers{.count = 2, .threads = 3});
  EXPECT_EQ(outcome.failed.size(), 1U);  // a list is no object
  const nlohmann::json made = study_.result("key-h", "made");
  EXPECT_EQ(made.at("cell"), study_.cell("key-h").string());
  EXPECT_EQ(made.at("other"), study_.cell("key-f").string());
  EXPECT_EQ(made.at("threads"), 3);
  EXPECT_EQ(made.at("device"), "cpu");
}

TEST_F(EngineTest, HasNoMoreWorkersThanAsked) {
  std::vector<StudyCell> cells;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) cells.push_back(noting(name, "sleep 0.1"));
  run_cells(cells, study_, two_);
  int now = 0, most = 0;
  for (const std::string& line : noted()) most = std::max(most, now += line.starts_with("begin") ? 1 : -1);
  EXPECT_EQ(most, 2);
}

TEST_F(EngineTest, ShardsShareTheCells) {
  const std::vector<StudyCell> cells{noting("a"), noting("b"), noting("c", "true", {"key-a"}), noting("d"),
                                     noting("e", "true", {"key-c"})};
  Workers first = two_, second = two_;
  read_shard("1/2", first);
  read_shard("2/2", second);
  const Outcome of_first = run_cells(cells, study_, first);
  EXPECT_EQ(of_first.done,
            (std::vector<std::string>{"key-a", "key-c", "key-d", "key-e"}));  // what needs each other stays together
  EXPECT_EQ(of_first.elsewhere, std::vector<std::string>{"key-b"});
  EXPECT_FALSE(of_first.complete());
  EXPECT_NE(of_first.summary(cells).find("not here yet"), std::string::npos);
  EXPECT_TRUE(run_cells(cells, study_, second).complete());
  EXPECT_EQ(begun(), 5U);
}

TEST_F(EngineTest, WaitsForALockOfAWorkerThatIsAboutToEnd) {
  std::filesystem::create_directories(study_.cell("key-a"));
  auto lock = FileLock::try_take(study_.cell("key-a") / "lock");
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    lock.reset();
  });
  const Outcome outcome = run_cells({noting("a")}, study_, two_);
  release.join();
  EXPECT_TRUE(outcome.complete());
}

TEST_F(EngineTest, StopsWhenAsked) {
  const StudyCell cell{"long",
                       "key-l",
                       {{"made", {"/bin/sh", "-c", "trap 'kill -9 $!; echo saved >&2; exit 143' TERM; sleep 1000 & wait"}}},
                       {}};
  std::thread ask([&] {
    const auto log = study_.cell("key-l") / "log.txt";
    while (!std::filesystem::exists(log)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::kill(::getpid(), SIGTERM);
  });
  try {
    run_cells({cell}, study_, two_);
    ADD_FAILURE() << "it did not stop";
  } catch (const Stopped& stopped) {
    EXPECT_EQ(stopped.signal(), SIGTERM);
  }
  ask.join();
  EXPECT_NE(read_file(study_.cell("key-l") / "log.txt").find("saved"), std::string::npos);
}

TEST(Outcome, ALaterCallCounts) {
  Outcome outcome{{"a"}, {{"b", "broken"}}, {"c"}};
  outcome.add({{"b"}, {{"c", "broken"}}, {}});
  EXPECT_EQ(outcome.done, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(outcome.failed.size(), 1U);
  EXPECT_EQ(outcome.failed[0].first, "c");
  EXPECT_TRUE(outcome.elsewhere.empty());
}

TEST(Workers, ShareTheCores) {
  const auto settled = [](Workers workers, int64_t cores, int64_t devices) {
    workers.settle(cores, devices);
    return std::pair(workers.count, workers.threads);
  };
  EXPECT_EQ(settled({}, 8, 0), std::pair(int64_t{8}, int64_t{1}));
  EXPECT_EQ(settled({.count = 3}, 8, 0), std::pair(int64_t{3}, int64_t{2}));
  EXPECT_EQ(settled({.threads = 4}, 8, 0), std::pair(int64_t{2}, int64_t{4}));
  EXPECT_EQ(settled({.count = 20}, 8, 0), std::pair(int64_t{20}, int64_t{1}));
  EXPECT_EQ(settled({.device = "cuda"}, 16, 4), std::pair(int64_t{4}, int64_t{4}));
}

TEST(Workers, Shard) {
  Workers workers;
  read_shard("2/4", workers);
  EXPECT_EQ(workers.shard, 2);
  EXPECT_EQ(workers.shards, 4);
  for (const char* wrong : {"0/4", "5/4", "2", "/", "a/b", "1/0", "-1/2"})
    EXPECT_THROW(read_shard(wrong, workers), UserError) << wrong;
}

}  // namespace
}  // namespace l0gm
