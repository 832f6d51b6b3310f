#include "study/child_process.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <csignal>
#include <functional>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "support/temporary_folder.h"

namespace l0gm {
namespace {

void wait_until(const std::function<bool()>& holds) {
  for (int k = 0; k < 3000 && !holds(); ++k) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(holds());
}

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

TEST(ChildProcess, OutputErrorsAndExitCode) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "log", "before\n");
  ChildProcess child = ChildProcess::start(shell("echo out $WORD; echo wrong >&2; cat; exit 3"), {{"WORD", "of it"}},
                                           folder.path() / "out", folder.path() / "log");
  wait_until([&] { return child.finished(); });
  EXPECT_EQ(child.exit_code(), 3);
  EXPECT_EQ(read_file(folder.path() / "out"), "out of it\n");
  EXPECT_EQ(read_file(folder.path() / "log"), "before\nwrong\n");
}

TEST(ChildProcess, SaysWhichSignalEndedIt) {
  const TemporaryFolder folder;
  ChildProcess child = ChildProcess::start(shell("exec sleep 100"), {}, folder.path() / "out", folder.path() / "log");
  EXPECT_FALSE(child.finished());
  child.send(SIGTERM);
  wait_until([&] { return child.finished(); });
  EXPECT_EQ(child.exit_code(), 128 + SIGTERM);
}

TEST(ChildProcess, RefusesAProgramThatIsNotThere) {
  const TemporaryFolder folder;
  EXPECT_THROW(ChildProcess::start({"/nowhere/program"}, {}, folder.path() / "out", folder.path() / "log"), UserError);
}

// The process that started it is killed: so is the child, and a lock that it held is free.
TEST(ChildProcess, DiesWithItsParent) {
  const TemporaryFolder folder;
  const std::string script = fmt::format("echo $$ > '{}'; exec sleep 1000", (folder.path() / "pid").string());
  const pid_t parent = ::fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    const auto lock = FileLock::try_take(folder.path() / "lock");
    const ChildProcess child =
        ChildProcess::start(shell(script), {}, folder.path() / "out", folder.path() / "log", lock->descriptor());
    for (;;) ::pause();
  }
  wait_until([&] { return std::filesystem::exists(folder.path() / "pid") && !read_file(folder.path() / "pid").empty(); });
  const auto pid = static_cast<pid_t>(*parse_integer(trim(read_file(folder.path() / "pid"))));
  EXPECT_EQ(FileLock::try_take(folder.path() / "lock"), nullptr);
  ::kill(parent, SIGKILL);
  ::waitpid(parent, nullptr, 0);
  wait_until([&] { return FileLock::try_take(folder.path() / "lock") != nullptr; });
  wait_until([&] {  // gone, or waiting for somebody to ask how it ended
    const std::string status =
        std::filesystem::exists(fmt::format("/proc/{}/stat", pid)) ? read_file(fmt::format("/proc/{}/stat", pid)) : "";
    return status.empty() || status.find(") Z ") != std::string::npos;
  });
}

}  // namespace
}  // namespace l0gm
