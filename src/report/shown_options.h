#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace l0gm {

// A configuration as a list for people: every option and its value, in the order of the names.
using ShownOptions = std::vector<std::pair<std::string, std::string>>;

// `path_keys`: options that are paths; of these, and of whatever looks like a path of the machine, only the file's name is shown,
// unless `with_paths`. UserError when the text is no TOML.
ShownOptions shown_options(std::string_view toml, const std::set<std::string>& path_keys, bool with_paths);

// "…/bank.csv" of "/home/me/bank.csv"; other texts as they are.
std::string without_folders(const std::string& path);
std::string without_machine_path(const std::string& text);  // the same where it starts as an absolute path does

}  // namespace l0gm
