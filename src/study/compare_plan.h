#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "baselines/search_space.h"
#include "l0gm/options.h"

// A plan of `l0gm compare`: named lines, trained on each of some datasets. A TOML file (examples/studies).
namespace l0gm {

struct ComparedData {
  std::string name;
  std::filesystem::path config;  // "": `set` says all
  std::vector<std::string> set;
};

struct ComparedLine {
  std::string name;
  std::vector<std::string> set;   // of the configuration; of a peer: the library's own settings
  std::string peer;               // "": ours
  std::string teacher;            // the line whose run of the same seed it is distilled from; "": none
  SearchSpace choose;             // every point is trained, the one with the least mean validation NLL is shown
  std::vector<std::string> only;  // data that it is for; empty: all
  bool is_for(const std::string& data) const;
};

enum class CompareLayout { lines, matrix };  // a table per dataset; or a row per dataset and a column per line
template <>
inline constexpr auto enum_names<CompareLayout> = std::to_array<std::string_view>({"lines", "matrix"});

struct ComparePlan {
  std::string title;
  int64_t seeds = 3;
  std::vector<std::string> measures;  // names of columns: study/compare_figures.h
  bool perturb = false;               // judge on perturbed copies of test rows as well
  bool spread = false;                // figures with their standard deviation over seeds
  CompareLayout layout = CompareLayout::lines;
  std::string reference;         // the line that the others' NLL is compared with, row by row; "": none
  std::vector<std::string> set;  // of all lines of ours
  std::vector<ComparedData> data;
  std::vector<ComparedLine> lines;

  const ComparedLine* line(const std::string& name) const;
  std::vector<size_t> order() const;  // of lines: teachers first
};

// UserError that names the file, the key and what is wanted instead.
ComparePlan read_compare_plan(const std::filesystem::path& path);

}  // namespace l0gm
