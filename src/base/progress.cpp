#include "base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"

namespace l0gm {
namespace {

constexpr auto redraw_interval = std::chrono::milliseconds(100);
constexpr int widest_bar = 30, narrowest_bar = 8;

// The active bars; the innermost (last) one is shown. Guarded by standard_error_mutex(), and like it never destroyed.
std::vector<Progress*>& active_bars() {
  static auto* bars = new std::vector<Progress*>;
  return *bars;
}

int terminal_width() {
  struct winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// One column per character: right for our own texts; names in wide scripts may make the line a little too long.
int columns(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return !continues_character(c); }));
}

std::string clipped(std::string_view text, int width) {
  if (columns(text) <= width) return std::string(text);
  if (width <= 0) return "";
  size_t end = 0;
  for (int used = 0; end < text.size(); ++end) {
    if (!continues_character(text[end]) && ++used == width) break;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string one_line(std::string_view text) {
  std::string result(text);
  std::replace_if(result.begin(), result.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
  return result;
}

std::string duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "--:--";
  const auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

std::string bar(double fraction, int width) {
  static constexpr std::string_view eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int filled = static_cast<int>(std::floor(fraction * width * 8));
  std::string result;
  for (int i = 0; i < filled / 8; ++i) result += "█";
  result += eighths[filled % 8];
  result.append(static_cast<size_t>(width - columns(result)), ' ');
  return result;
}

// "  12.5 steps/s"; nothing before there is something to tell.
std::string rate_text(int64_t done, double elapsed_s, ProgressUnit unit) {
  const auto since = static_cast<double>(done - unit.begin);
  if (unit.name.empty() || since <= 0 || !(elapsed_s > 0.1)) return "";
  const double rate = since / elapsed_s;
  if (unit.name == "bytes") return fmt::format("  {:.1f} MB/s", 1e-6 * rate);
  if (rate >= 100) return fmt::format("  {} {}/s", with_thousands(std::llround(rate)), unit.name);
  return fmt::format("  {:.{}f} {}/s", rate, rate < 1 ? 2 : 1, unit.name);
}

}  // namespace

std::string progress_line(std::string_view title, int64_t done, int64_t total, double elapsed_s, std::string_view note, int width,
                          ProgressUnit unit) {
  done = std::max<int64_t>(done, 0);
  const std::string head = one_line(title);
  const std::string tail = rate_text(done, elapsed_s, unit) + (note.empty() ? "" : "  " + one_line(note));
  if (total <= 0) return clipped(fmt::format("{}  {}  {}{}", head, with_thousands(done), duration(elapsed_s), tail), width);
  const double fraction = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  // By what was done since the job started, not by all that is done.
  const double since = fraction - static_cast<double>(unit.begin) / static_cast<double>(total);
  const double remaining_s = since > 0 ? elapsed_s * (1 - fraction) / since : -1;
  // 100 % only when all is done.
  const int percent = static_cast<int>(std::floor(fraction * 100));
  const std::string figures = fmt::format(" {:3} %  {} < {}", percent, duration(elapsed_s), duration(remaining_s));
  const int room = width - columns(head) - columns(figures) - columns(tail) - 3;
  const int bar_width = std::clamp(room, narrowest_bar, widest_bar);
  return clipped(fmt::format("{} │{}│{}{}", head, bar(fraction, bar_width), figures, tail), width);
}

Progress::Progress(std::string title, int64_t total, ProgressUnit unit)
    : title_(std::move(title)),
      total_(total),
      unit_(unit),
      start_(std::chrono::steady_clock::now()),
      last_(start_ - redraw_interval),
      visible_(standard_error_is_terminal() && log_level() != LogLevel::quiet) {
  if (!visible_) return;
  const std::lock_guard<std::recursive_mutex> lock(standard_error_mutex());
  active_bars().push_back(this);
}

Progress::~Progress() {
  if (!visible_) return;
  const std::lock_guard<std::recursive_mutex> lock(standard_error_mutex());
  clear_line();
  std::erase(active_bars(), this);
  redraw();
}

void Progress::update(int64_t done, std::string_view note) {
  if (!visible_) return;
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard<std::recursive_mutex> lock(standard_error_mutex());
  done_ = done;
  note_ = note;
  if (now - last_ < redraw_interval || active_bars().back() != this) return;
  last_ = now;
  draw();
}

void Progress::draw() {
  const double elapsed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  // The last column stays free: a full line makes some terminals start a new one.
  const std::string line = progress_line(title_, done_, total_, elapsed_s, note_, terminal_width() - 1, unit_);
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
}

void Progress::clear_line() {
  const std::lock_guard<std::recursive_mutex> lock(standard_error_mutex());
  if (active_bars().empty()) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

void Progress::redraw() {
  const std::lock_guard<std::recursive_mutex> lock(standard_error_mutex());
  if (!active_bars().empty()) active_bars().back()->draw();
}

}  // namespace l0gm
