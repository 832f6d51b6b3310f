#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace l0gm {

// What a job counts. With a unit the line has a rate: "steps" are 12.5 steps/s, "bytes" are MB/s.
struct ProgressUnit {
  std::string_view name;
  int64_t begin = 0;  // what was done before the job started: a run that is resumed
};

// The line of a bar, at most `width` columns. Without a total (0 or less) it has the count instead of bar and percentage.
std::string progress_line(std::string_view title, int64_t done, int64_t total, double elapsed_s, std::string_view note, int width,
                          ProgressUnit unit = {});

// A bar on standard error, redrawn at most ten times a second, and only on a terminal and not when quiet:
// elsewhere it prints nothing. Log lines printed meanwhile (base/log.h) go above it.
class Progress {
 public:
  Progress(std::string title, int64_t total, ProgressUnit unit = {});  // the name of the unit is a literal
  ~Progress();                                                         // clears the bar
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(int64_t done, std::string_view note = {});  // e.g. note = "harden  valid nll 0.2731  active 12.5 %"
  static void clear_line();                               // used by log.cpp before it prints
  static void redraw();                                   // used by log.cpp afterwards

 private:
  std::string title_;
  int64_t total_;
  ProgressUnit unit_;
  std::chrono::steady_clock::time_point start_, last_;
  bool visible_;
  void draw();
  int64_t done_ = 0;
  std::string note_;
};

}  // namespace l0gm
