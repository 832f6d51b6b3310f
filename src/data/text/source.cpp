#include "data/text/source.h"

#include <fmt/format.h>

#include "data/catalogue.h"
#include "data/made/planted_text.h"
#include "data/splits.h"
#include "data/text/imdb.h"
#include "data/text/own_texts.h"
#include "data/unused_options.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

// Of the sources for one's own files, csv and tsv are of a table unless a column of texts is named.
bool is_separated(const CatalogueEntry& entry) { return entry.name == "csv" || entry.name == "tsv"; }

void refuse_types(const DataOptions& options) {
  if (options.types.empty()) return;
  throw UserError(fmt::format(
      "data.types names '{}', but texts have no columns with types: data.text is read, others are not. Remove data.types.",
      options.types.begin()->first));
}

}  // namespace

bool names_texts(const DataOptions& options) {
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.name == options.source) return entry.modality == "text" || (is_separated(entry) && !options.text.empty());
  }
  return false;
}

namespace {

TextData load_as_split(const DataOptions& options) {
  if (options.source.empty()) {
    throw UserError(
        "data.source is not set. Set it to a dataset's name (`l0gm data list`), or to csv, tsv or jsonl for your own texts.");
  }
  const CatalogueEntry& entry = catalogue_entry(options.source);
  if (entry.modality != "text" && !is_separated(entry))
    throw UserError(fmt::format("data.source = \"{}\" is a {}, wanted texts", entry.name, entry.modality));
  protocol_of(entry, options.protocol);  // none of them has protocols
  refuse_types(options);
  if (entry.own) {
    refuse_unused_with_files(options);
    return load_own_texts(options);
  }
  const bool made = entry.files.empty();
  refuse_unused_with_catalogue(options, made, made ? "label" : "sentiment", "csv, tsv or jsonl for your own texts");
  if (made) return make_planted_text(options.rows, static_cast<uint64_t>(options.split.seed));
  return load_imdb(options.dir);
}

}  // namespace

TextData load_texts(const DataOptions& options) {
  TextData data = load_as_split(options);
  if (!options.split.folds) return data;
  data.name += fold_suffix(options.split);
  apply_folds(options.split, data.rows(Split::train), data.rows(Split::valid), data.rows(Split::test),
              [&](const std::vector<int64_t>& rows) {
                std::vector<int32_t> labels;
                for (const int64_t row : rows) labels.push_back(data.labels[static_cast<size_t>(row)]);
                return labels;
              });
  finish(data);
  return data;
}

}  // namespace l0gm
