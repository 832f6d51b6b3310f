#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace l0gm {

// A program that was started and may still run. It dies with this process, however that ends: a study that was killed leaves no
// workers behind.
//   ChildProcess child = ChildProcess::start({"/usr/bin/python3", "peer.py"}, {}, "out.txt", "log.txt");
//   while (!child.finished()) wait();   // then child.exit_code()
class ChildProcess {
 public:
  // Standard output replaces the file `out`, standard error is appended to `log`, standard input is empty. `environment` is set
  // on top of this process's own. `held`: a descriptor that stays open in the child; -1: none. UserError when the program is not
  // there.
  static ChildProcess start(const std::vector<std::string>& words, const std::map<std::string, std::string>& environment,
                            const std::filesystem::path& out, const std::filesystem::path& log, int held = -1);
  ChildProcess(ChildProcess&& other) noexcept : pid_(other.pid_), exit_code_(other.exit_code_) { other.pid_ = -1; }
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // ends it, at once, if it still runs

  bool finished();                               // asks without waiting
  int exit_code() const { return *exit_code_; }  // once finished; 128 + number of the signal that ended it
  void send(int signal) const;

 private:
  explicit ChildProcess(pid_t pid) : pid_(pid) {}
  pid_t pid_;
  std::optional<int> exit_code_;
};

}  // namespace l0gm
