#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/log_pause.h"
#include "base/progress.h"

namespace l0gm {
namespace {

std::atomic<LogLevel>& current_level() {
  static std::atomic<LogLevel> level{LogLevel::normal};
  return level;
}

std::atomic<int>& pauses() {
  static std::atomic<int> count{0};
  return count;
}

bool coloured() { return standard_error_is_terminal() && std::getenv("NO_COLOR") == nullptr; }

std::string label(std::string_view word, std::string_view colour) {
  if (!coloured()) return std::string(word) + ": ";
  return "\x1b[1;" + std::string(colour) + "m" + std::string(word) + ":\x1b[0m ";
}

void print(std::string line) {
  line += '\n';
  const std::lock_guard<std::recursive_mutex> lock(standard_error_mutex());
  Progress::clear_line();
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  Progress::redraw();
}

}  // namespace

void set_log_level(LogLevel level) { current_level() = level; }
LogLevel log_level() { return current_level(); }
bool standard_error_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

void log_info(std::string_view message) {
  if (log_level() != LogLevel::quiet && pauses() == 0) print(std::string(message));
}

void log_detail(std::string_view message) {
  if (log_level() == LogLevel::verbose && pauses() == 0) print(std::string(message));
}

void log_warning(std::string_view message) {
  if (pauses() == 0) print(label("warning", "33").append(message));
}
void log_error(std::string_view message) { print(label("error", "31").append(message)); }

LogPause::LogPause() { ++pauses(); }
LogPause::~LogPause() { --pauses(); }

// Never destroyed: a thread or another static's destructor may still log while the program ends.
std::recursive_mutex& standard_error_mutex() {
  static auto* mutex = new std::recursive_mutex;
  return *mutex;
}

}  // namespace l0gm
