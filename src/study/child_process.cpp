#include "study/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "l0gm/error.h"

namespace l0gm {

namespace {

constexpr int not_started = 127;  // as a shell says it

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// This process's environment with the additions in place of what it had of that name.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> texts;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!additions.contains(text.substr(0, text.find('=')))) texts.push_back(text);
  }
  for (const auto& [name, value] : additions) texts.push_back(name + "=" + value);
  return texts;
}

// In the new process, up to the program itself: nothing here may allocate or lock.
[[noreturn]] void become(char* const* words, char* const* environment, const char* out, const char* log, int held, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(not_started);  // it ended in between
  ::setpgid(0, 0);                                  // Ctrl-C is the study's, which then asks its workers to stop
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDONLY);
  const int result = ::open(out, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  const int messages = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (nothing < 0 || result < 0 || messages < 0) ::_exit(not_started);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(result, STDOUT_FILENO);
  ::dup2(messages, STDERR_FILENO);
  if (held >= 0) ::fcntl(held, F_SETFD, 0);
  ::execve(words[0], words, environment);
  ::_exit(not_started);
}

}  // namespace

ChildProcess ChildProcess::start(const std::vector<std::string>& words, const std::map<std::string, std::string>& environment,
                                 const std::filesystem::path& out, const std::filesystem::path& log, int held) {
  if (::access(words.at(0).c_str(), X_OK) != 0) {
    throw UserError(fmt::format("cannot start '{}': {}", words[0], std::strerror(errno)));
  }
  std::vector<std::string> own_words = words, own_environment = environment_with(environment);
  const std::vector<char*> arguments = pointers_to(own_words), variables = pointers_to(own_environment);
  const std::string out_path = out.string(), log_path = log.string();
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid < 0) throw std::runtime_error(fmt::format("cannot start another process: {}", std::strerror(errno)));
  if (pid == 0) become(arguments.data(), variables.data(), out_path.c_str(), log_path.c_str(), held, parent);
  return ChildProcess(pid);
}

ChildProcess::~ChildProcess() {
  if (pid_ < 0 || finished()) return;
  send(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool ChildProcess::finished() {
  if (exit_code_) return true;
  int status = 0;
  const pid_t found = ::waitpid(pid_, &status, WNOHANG);
  if (found == 0 || (found < 0 && errno == EINTR)) return false;
  exit_code_ = found < 0 ? not_started : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

void ChildProcess::send(int signal) const {
  if (pid_ > 0 && !exit_code_) ::kill(pid_, signal);
}

}  // namespace l0gm
