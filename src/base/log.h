#pragma once

#include <mutex>
#include <string_view>

namespace l0gm {

// Progress and logs go to standard error; results to standard output.
enum class LogLevel { quiet, normal, verbose };
void set_log_level(LogLevel level);
LogLevel log_level();
bool standard_error_is_terminal();

void log_info(std::string_view message);
void log_detail(std::string_view message);   // only when verbose
void log_warning(std::string_view message);  // "warning: …"; shown even when quiet
void log_error(std::string_view message);    // "error: …"

// Lock this to write to standard error, so that lines and bars of several threads do not mix.
std::recursive_mutex& standard_error_mutex();

}  // namespace l0gm
