#include "base/array_file.h"

#include "base/log.h"

namespace l0gm {

void set_damaged_aside(const std::filesystem::path& path, const std::string& why, const std::string& what) {
  std::filesystem::path aside = path;
  aside += ".damaged";
  std::error_code error;
  std::filesystem::rename(path, aside, error);
  log_warning(fmt::format("{}{} {}", why, why.ends_with('.') ? "" : ".",
                          error ? what + " is made again." : fmt::format("It was set aside as {}.", aside.string())));
}

}  // namespace l0gm
