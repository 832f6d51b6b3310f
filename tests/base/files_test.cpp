#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test.
class Files : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("l0gm_files_" + std::to_string(::getpid()) + "_" + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  size_t file_count() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

template <class Call>
std::string user_error_of(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no UserError";
}

TEST_F(Files, WriteAndReadBack) {
  const fs::path path = folder_ / "a";
  for (const size_t size : {size_t{0}, size_t{1}, size_t{4096}, size_t{3} << 20}) {
    std::string bytes(size, 'x');
    if (size > 0) bytes.back() = '\0';
    write_file_atomically(path, bytes);
    EXPECT_EQ(read_file(path), bytes);
    EXPECT_EQ(MappedFile(path).bytes(), bytes);
    EXPECT_EQ(file_count(), 1U);
  }
}

TEST_F(Files, RightsFollowTheUmask) {
  const mode_t before = ::umask(027);
  write_file_atomically(folder_ / "a", "x");
  ::umask(before);
  struct stat status{};
  ASSERT_EQ(::stat((folder_ / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST_F(Files, WithoutCommitNothingChanges) {
  const fs::path path = folder_ / "a";
  write_file_atomically(path, "old");
  {
    AtomicFile file(path);
    file.write(std::string(1 << 20, 'n'));
    file.write("more");
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(Files, PiecesOfEverySizeKeepTheirOrder) {
  std::string expected;
  AtomicFile file(folder_ / "a");
  for (size_t i = 0; i < 40; ++i) {
    const std::string piece((i * 7919) % 100000 * (i % 5), static_cast<char>('a' + i % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(read_file(folder_ / "a"), expected);
  EXPECT_THROW(file.write("x"), std::logic_error);
  EXPECT_THROW(file.commit(), std::logic_error);
}

TEST_F(Files, TwoWritersOfOneFileDoNotMix) {
  AtomicFile first(folder_ / "a"), second(folder_ / "a");
  first.write("first");
  second.write("second");
  second.commit();
  first.commit();
  EXPECT_EQ(read_file(folder_ / "a"), "first");
  EXPECT_EQ(file_count(), 1U);
}

TEST_F(Files, MessagesNameThePath) {
  const std::string missing = (folder_ / "missing" / "a").string();
  EXPECT_EQ(user_error_of([&] { write_file_atomically(missing, "x"); }), "cannot write '" + missing + "': the folder '" +
                                                                             (folder_ / "missing").string() +
                                                                             "' does not exist; create it first");
  EXPECT_EQ(user_error_of([&] { read_file(missing); }), "cannot read '" + missing + "': No such file or directory");
  EXPECT_EQ(user_error_of([&] { MappedFile map(missing); }), "cannot read '" + missing + "': No such file or directory");
  EXPECT_EQ(user_error_of([&] { read_file(folder_); }), "cannot read '" + folder_.string() + "': Is a directory");
  EXPECT_EQ(user_error_of([&] { MappedFile map(folder_); }), "cannot read '" + folder_.string() + "': Is a directory");
  EXPECT_EQ(user_error_of([&] { write_file_atomically(folder_, "x"); }),
            "cannot write '" + folder_.string() + "': Is a directory");
  EXPECT_EQ(user_error_of([&] { write_file_atomically(folder_ / "", "x"); }),
            "cannot write '" + (folder_ / "").string() + "': the path has no file name");
  write_file_atomically(folder_ / "file", "x");
  const std::string below = (folder_ / "file" / "a").string();
  EXPECT_EQ(user_error_of([&] { write_file_atomically(below, "x"); }), "cannot write '" + below + "': Not a directory");
}

TEST_F(Files, FolderWithoutRights) {
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
  const bool root = ::geteuid() == 0;  // root may write everywhere: run as user nobody meanwhile
  ASSERT_TRUE(!root || ::seteuid(65534) == 0);
  const std::string path = (folder_ / "a").string();
  const std::string message = user_error_of([&] { write_file_atomically(path, "x"); });
  ASSERT_TRUE(!root || ::seteuid(0) == 0);
  EXPECT_EQ(message, "cannot write '" + path + "': Permission denied");
  fs::permissions(folder_, fs::perms::owner_all);
}

TEST_F(Files, APipeIsNotReplaced) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(user_error_of([&] { write_file_atomically(path, "x"); }),
            "cannot write '" + path.string() + "': it is not a regular file; name another one");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST_F(Files, FilesWithoutASizeAreReadToTheirEnd) { EXPECT_NE(read_file("/proc/self/status").find("Pid:"), std::string::npos); }

TEST_F(Files, LockIsHeldOnceAndReleased) {
  const fs::path path = folder_ / "lock";
  auto lock = FileLock::try_take(path);
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(FileLock::try_take(path), nullptr);
  lock.reset();
  EXPECT_NE(FileLock::try_take(path), nullptr);
  EXPECT_THROW(FileLock::try_take(folder_ / "missing" / "lock"), UserError);
}

TEST_F(Files, LockEndsWithItsProcess) {
  const fs::path path = folder_ / "lock";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto lock = FileLock::try_take(path);
    const char taken = lock != nullptr ? 'y' : 'n';
    if (::write(ready[1], &taken, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char taken = 0;
  ASSERT_EQ(::read(ready[0], &taken, 1), 1);
  EXPECT_EQ(taken, 'y');
  EXPECT_EQ(FileLock::try_take(path), nullptr);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_NE(FileLock::try_take(path), nullptr);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace l0gm
