#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run/evaluation.h"

// A study is a list of cells, each of which has a folder of its own below the study's: FOLDER/cells/KEY.
namespace l0gm {

// A program to run. What it prints on standard output, one JSON object, becomes KEY/NAME.json: while that file is not there, the
// step has to be done. In the words {cell} is the folder of the cell, {cell:KEY} that of another, {threads} and {device} what the
// worker has, {l0gm} this program.
struct Step {
  std::string name;
  std::vector<std::string> words;
};

struct StudyCell {
  std::string label;               // in messages: "lambda 0.001, seed 2"
  std::string key;                 // what it is: the hash of its configuration; cells of equal keys are the same
  std::vector<Step> steps;         // in this order
  std::vector<std::string> needs;  // keys of the cells that have to be done before
};

class StudyFolder {
 public:
  explicit StudyFolder(std::filesystem::path path) : path_(std::filesystem::absolute(path).lexically_normal()) {}
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path cell(const std::string& key) const { return path_ / "cells" / key; }
  std::filesystem::path product(const std::string& key, const std::string& step) const { return cell(key) / (step + ".json"); }
  std::filesystem::path run(const std::string& key) const { return cell(key) / "run"; }
  bool done(const StudyCell& cell) const;  // every step is
  nlohmann::json result(const std::string& key, const std::string& step) const;
  Evaluation evaluation(const std::string& key, const std::string& step) const;  // of a step that judged a run

 private:
  std::filesystem::path path_;
};

std::string key_of_text(const std::string& text);  // 16 digits of its hash

}  // namespace l0gm
