#include "data/text/export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "base/csv.h"
#include "base/files.h"
#include "base/hash.h"
#include "data/text/perturb.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

const std::string& class_of(const TextData& data, int64_t row) {
  static const std::string unknown;
  const int32_t label = data.labels[static_cast<size_t>(row)];
  return label < 0 ? unknown : data.class_names[static_cast<size_t>(label)];
}

void create_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw UserError(fmt::format("cannot create the folder {}: {}.", folder.string(), error.message()));
}

// Writes one object per line, atomically, and hashes what it writes.
class JsonLinesFile {
 public:
  explicit JsonLinesFile(const fs::path& path) : file_(path) {}
  void add(const OrderedJson& object) {
    const std::string line = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    file_.write(line);
    hash_.update(line.data(), line.size());
  }
  std::string commit() {
    file_.commit();
    return hash_.hex();
  }

 private:
  AtomicFile file_;
  Sha256 hash_;
};

std::string write_perturbed(const TextData& data, const Tokens& tokens, const TokenPerturber& perturber, const fs::path& path) {
  JsonLinesFile file(path);
  std::vector<int32_t> ids;
  std::vector<int64_t> masked;
  for (const int64_t row : data.rows(Split::test)) {
    const std::span<const int32_t> before = tokens.ids(row);
    ids.assign(before.begin(), before.end());
    perturber.apply(row, ids);
    masked.clear();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != before[i]) masked.push_back(static_cast<int64_t>(i));
    }
    file.add({{"row", row}, {"label", class_of(data, row)}, {"masked", masked}, {"ids", ids}});
  }
  return file.commit();
}

}  // namespace

void write_texts(const fs::path& path, const TextData& data) {
  std::vector<std::string_view> part(static_cast<size_t>(data.texts.size()));
  for (const Split split : {Split::train, Split::valid, Split::test}) {
    for (const int64_t row : data.rows(split)) part[static_cast<size_t>(row)] = name_of_enum(split);
  }
  const char delimiter = path.extension() == ".csv" ? ',' : '\t';
  AtomicFile file(path);
  file.write(fmt::format("text{0}label{0}split\n", delimiter));
  std::string line;
  for (int64_t row = 0; row < data.texts.size(); ++row) {
    line.clear();
    append_csv_cell(line, data.texts.view(row), delimiter);
    append_csv_cell(line += delimiter, class_of(data, row), delimiter);
    line += delimiter;
    line += part[static_cast<size_t>(row)];
    file.write(line += '\n');
  }
  file.commit();
}

void export_texts(const TextData& data, const fs::path& folder) {
  create_folder(folder);
  std::error_code ignored;
  fs::remove(folder / "perturbed.json", ignored);  // perturbed copies of an earlier export are not of these texts
  for (const Split split : {Split::train, Split::valid, Split::test}) {
    JsonLinesFile file(folder / fmt::format("{}.jsonl", name_of_enum(split)));
    for (const int64_t row : data.rows(split))
      file.add({{"row", row}, {"label", class_of(data, row)}, {"text", data.texts.view(row)}});
    file.commit();
  }
  const nlohmann::json json = {{"label", data.label}, {"classes", data.class_names}};
  write_file_atomically(folder / "split.json", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

nlohmann::json export_perturbed_texts(const TextData& data, const Tokens& tokens, const Tokenizer& tokenizer, uint64_t seed,
                                      const fs::path& folder) {
  create_folder(folder / "perturbed");
  const SpecialTokens& special = tokenizer.special();
  nlohmann::json result = {{"seed", seed},
                           {"tokenizer", tokenizer.sha256()},
                           {"mask", special.mask >= 0 ? special.mask : special.unknown},
                           {"conditions", nlohmann::json::object()}};
  for (const Perturbation& perturbation : perturbations()) {
    if (!changes_tokens(perturbation)) continue;
    const std::string file = fmt::format("perturbed/test-{}.jsonl", perturbation.name);
    const TokenPerturber perturber(perturbation, seed, special);
    const std::string sha256 = write_perturbed(data, tokens, perturber, folder / file);
    result["conditions"][perturbation.name] = {{"file", file}, {"sha256", sha256}};
  }
  write_file_atomically(folder / "perturbed.json", result.dump(2) + "\n");
  return result;
}

}  // namespace l0gm
