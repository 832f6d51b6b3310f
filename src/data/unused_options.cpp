#include "data/unused_options.h"

#include <fmt/format.h>

#include "l0gm/error.h"

namespace l0gm {
namespace {

template <class Number>
void refuse_number(std::string_view key, Number value, Number standard, const std::string& reason) {
  if (value == standard) return;
  throw UserError(fmt::format("data.{} is {}, but {}. Remove data.{}.", key, value, reason, key));
}

void refuse_shares(const DataOptions& options, const std::string& reason) {
  const SplitOptions standard;
  refuse_number("split.valid", options.split.valid, standard.valid, reason);
  refuse_number("split.test", options.split.test, standard.test, reason);
}

// Made data use data.rows and data.split.seed, but define their own split.
void refuse_unused_numbers(const DataOptions& options, bool made) {
  const std::string own_split = fmt::format("data.source = \"{}\" brings its own split", options.source);
  refuse_shares(options, own_split);
  if (made) return;
  refuse_number("split.seed", options.split.seed, SplitOptions().seed,
                own_split + " (train.seed picks one where there are several)");
  refuse_number("rows", options.rows, DataOptions().rows,
                fmt::format("data.source = \"{}\" brings its own rows; only made datasets have as many as one asks for",
                            options.source));
}

void refuse_own_options(const DataOptions& options, std::string_view label, std::string_view own) {
  const auto refuse = [&](std::string_view key, const std::string& value) {
    if (value.empty()) return;
    throw UserError(
        fmt::format("data.{} is '{}', but data.source = \"{}\" brings its own. Remove data.{}, or set data.source to {}.", key,
                    value, options.source, key, own));
  };
  refuse("train", options.train);
  refuse("valid", options.valid);
  refuse("test", options.test);
  refuse("delimiter", options.delimiter);
  refuse("text", options.text);
  refuse("weight", options.weight);
  refuse("header", options.header ? "" : "false");
  refuse("split.column", options.split.column);
  if (options.label != label) refuse("label", options.label);
}

}  // namespace

void refuse_unused_with_catalogue(const DataOptions& options, bool made, std::string_view label, std::string_view own) {
  refuse_own_options(options, label, own);
  refuse_unused_numbers(options, made);
}

void refuse_unused_with_files(const DataOptions& options) {
  const SplitOptions standard;
  refuse_number("rows", options.rows, DataOptions().rows,
                "all rows of your files are read; only made datasets have as many as one asks for");
  if (!options.split.column.empty()) {
    const std::string reason = fmt::format("data.split.column = \"{}\" says which rows are held out", options.split.column);
    refuse_shares(options, reason);
    refuse_number("split.seed", options.split.seed, standard.seed, reason);
  }
  if (!options.valid.empty())
    refuse_number("split.valid", options.split.valid, standard.valid, "data.valid names a file for these rows");
  if (!options.test.empty())
    refuse_number("split.test", options.split.test, standard.test, "data.test names a file for these rows");
  if (!options.valid.empty() && !options.test.empty()) {
    refuse_number("split.seed", options.split.seed, standard.seed, "data.valid and data.test name files, so nothing is drawn");
  }
}

}  // namespace l0gm
