#include "study/cell.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

namespace fs = std::filesystem;

constexpr size_t key_digits = 16;

}  // namespace

bool StudyFolder::done(const StudyCell& cell) const {
  return std::all_of(cell.steps.begin(), cell.steps.end(),
                     [&](const Step& step) { return fs::exists(product(cell.key, step.name)); });
}

nlohmann::json StudyFolder::result(const std::string& key, const std::string& step) const {
  const fs::path file = product(key, step);
  try {
    return nlohmann::json::parse(read_file(file));
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("{} is damaged ({}). Remove {} and start the study again: it is made anew.", file.string(),
                                error.what(), cell(key).string()));
  }
}

Evaluation StudyFolder::evaluation(const std::string& key, const std::string& step) const {
  try {
    return Evaluation::from_json(result(key, step));
  } catch (const nlohmann::json::exception& error) {
    throw UserError(fmt::format("{} is no evaluation ({}). Remove {} and start the study again: it is made anew.",
                                product(key, step).string(), error.what(), cell(key).string()));
  }
}

std::string key_of_text(const std::string& text) { return sha256(text).substr(0, key_digits); }

}  // namespace l0gm
