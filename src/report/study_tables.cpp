#include "report/study_tables.h"

#include <algorithm>
#include <sstream>

#include "base/files.h"
#include "base/text.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr uintmax_t longest_page = 500'000;  // bytes

std::string plain(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') continue;
    if (text.substr(i, 2) == "**") {
      ++i;
      continue;
    }
    if (text.substr(i, 2) == "\\|") continue;  // the backslash; the bar is taken in the next round
    result += text[i];
  }
  return std::string(trim(result));
}

// The cells of "| a | b |"; a bar behind a backslash is part of a cell.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  size_t begin = 1;
  for (size_t i = 1; i < line.size(); ++i) {
    if (line[i] != '|' || line[i - 1] == '\\') continue;
    cells.push_back(plain(line.substr(begin, i - begin)));
    begin = i + 1;
  }
  return cells;
}

bool is_rule(std::string_view line) { return line.find('-') != line.npos && line.find_first_not_of("|-: ") == line.npos; }

}  // namespace

nlohmann::json markdown_parts(std::string_view text) {
  nlohmann::json parts = nlohmann::json::array();
  std::istringstream lines{std::string(text)};
  std::string prose;
  bool in_table = false;
  const auto end_prose = [&] {
    if (!prose.empty()) parts.push_back({{"text", prose}});
    prose.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    const std::string_view trimmed = trim(line);
    const bool of_table = trimmed.starts_with('|');
    if (of_table || trimmed.empty() || trimmed.starts_with('#')) end_prose();
    if (of_table && !in_table) {
      parts.push_back({{"head", cells_of(trimmed)}, {"rows", nlohmann::json::array()}});
    } else if (of_table && !is_rule(trimmed)) {
      parts.back()["rows"].push_back(cells_of(trimmed));
    } else if (trimmed.starts_with('#')) {
      parts.push_back({{"heading", plain(trimmed.substr(std::min(trimmed.size(), trimmed.find_first_not_of('#'))))}});
    } else if (!of_table && !trimmed.empty()) {
      if (!prose.empty()) prose += ' ';
      prose += plain(trimmed);
    }
    in_table = of_table;
  }
  end_prose();
  return parts;
}

nlohmann::json study_tables(const fs::path& folder) {
  nlohmann::json studies = nlohmann::json::array();
  std::error_code error;
  if (!fs::is_directory(folder / "cells", error)) return studies;
  std::vector<fs::path> pages;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    fs::path data = entry.path();
    const bool page = data.extension() == ".md" && entry.is_regular_file(error) && fs::file_size(data, error) <= longest_page;
    if (page && fs::is_regular_file(data.replace_extension(".json"), error)) pages.push_back(entry.path());
  }
  std::sort(pages.begin(), pages.end());
  for (const fs::path& page : pages)
    studies.push_back({{"name", page.stem().string()}, {"parts", markdown_parts(read_file(page))}});
  return studies;
}

}  // namespace l0gm
