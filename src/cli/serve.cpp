#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/command.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

// The server is a program of its own, beside this one, so that it needs no LibTorch.
[[noreturn]] void start_server(const std::vector<std::string>& arguments, bool quiet) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "l0gm-serve";
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  if (quiet) words.emplace_back("--quiet");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  throw UserError(fmt::format("{} cannot be started ({}); build it with the target l0gm_serve, or install it beside this program",
                              program.string(), std::strerror(errno)));
}

}  // namespace

void add_serve(CLI::App& app, const Common&) {
  app.add_subcommand("serve", "compact models over HTTP; the same as the program l0gm-serve");
}

void serve_if_asked(int argc, char** argv) {
  bool quiet = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "serve") start_server({argv + i + 1, argv + argc}, quiet);
    if (word != "--json" && word != "--quiet" && word != "--progress") return;
    quiet = quiet || word == "--quiet";
  }
}

}  // namespace l0gm
