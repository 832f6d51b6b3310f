#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

namespace l0gm {

constexpr std::string_view no_terminal = "no pseudo terminal";

// Runs `call` with standard error sent to `descriptor`, which is closed afterwards.
inline void with_standard_error(int descriptor, const std::function<void()>& call) {
  std::fflush(stderr);
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(descriptor, STDERR_FILENO);
  ::close(descriptor);
  call();
  std::fflush(stderr);
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
}

// What `call` writes to standard error while that is a file.
inline std::string written_to_standard_error(const std::function<void()>& call) {
  std::FILE* file = std::tmpfile();
  if (file == nullptr) return "no temporary file";
  with_standard_error(::dup(::fileno(file)), call);
  std::rewind(file);
  std::string text;
  for (int c = 0; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

// The same with a terminal of `width` columns; a few kilobytes at most, since nothing reads the terminal meanwhile.
inline std::string written_to_terminal(unsigned short width, const std::function<void()>& call) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return std::string(no_terminal);
  const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  if (terminal < 0) return std::string(no_terminal);
  struct winsize size{};
  size.ws_col = width;
  ::ioctl(terminal, TIOCSWINSZ, &size);
  with_standard_error(terminal, call);
  std::string text(65536, '\0');
  ::fcntl(master, F_SETFL, O_NONBLOCK);
  size_t filled = 0;
  for (ssize_t count = 0; (count = ::read(master, text.data() + filled, text.size() - filled)) > 0;)
    filled += static_cast<size_t>(count);
  ::close(master);
  text.resize(filled);
  return text;
}

}  // namespace l0gm
