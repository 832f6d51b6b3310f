#include "serving/text_latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/csv.h"
#include "base/line_reader.h"
#include "base/progress.h"
#include "base/random.h"
#include "base/text.h"
#include "data/table/encoded.h"
#include "l0gm/error.h"
#include "runtime/text/text_model.h"

namespace l0gm {

namespace {

constexpr int64_t fewest_texts = 64;  // to take batches from
constexpr double longest_us = 30e6;   // that one row of the table takes
constexpr int64_t fewest_runs = 3;

std::vector<std::string> texts_of_file(const std::filesystem::path& path, char delimiter, const TextHeader& header,
                                       int64_t count) {
  std::vector<std::string> texts;
  if (path.extension() == ".txt") {
    LineReader lines(path);
    for (std::string_view line; std::ssize(texts) < count && lines.next(line);) texts.emplace_back(line);
  } else {
    CsvOptions options;
    options.delimiter = delimiter != 0 ? delimiter : path.extension() == ".tsv" ? '\t' : header.delimiter;
    CsvReader reader(path, options);
    const auto column = static_cast<size_t>(match_columns(reader.names(), std::vector<std::string>{header.column}).front());
    for (std::vector<std::string_view> cells; std::ssize(texts) < count && reader.next(cells);) texts.emplace_back(cells[column]);
  }
  if (texts.empty()) throw UserError(fmt::format("{} has no texts", path.string()));
  return texts;
}

double mean_tokens(const TextHeader& header, const std::vector<std::string>& texts) {
  std::vector<int32_t> ids;
  for (const std::string& text : texts) header.tokenizer->encode(text, header.max_tokens, ids);
  return static_cast<double>(ids.size()) / static_cast<double>(texts.size());
}

nlohmann::json times_of_texts(const TextModel& model, const std::vector<std::string>& texts, int64_t batch,
                              const LatencyOptions& options) {
  std::vector<std::string_view> cells(texts.begin(), texts.end());
  while (std::ssize(cells) < batch) cells.push_back(cells[cells.size() - texts.size()]);
  const auto size = static_cast<size_t>(batch);
  std::vector<float> probabilities(size * model.classes().size());
  size_t next = 0;
  const auto work = [&](int64_t calls) {
    for (; calls > 0; --calls, next += size) {
      if (next + size > cells.size()) next = 0;
      model.predict(std::span(cells).subspan(next, size), probabilities.data(), nullptr);
    }
  };
  work(1);  // makes what is made at the first call
  const double start = steady_microseconds();
  work(1);
  const double one = std::max(1.0, steady_microseconds() - start);
  const auto affordable = std::max(fewest_runs, static_cast<int64_t>(longest_us / one) - options.warmup);
  const int64_t runs = std::min(options.runs, affordable), warmup = runs < options.runs ? 1 : options.warmup;
  const CallTimes times = time_calls(work, runs, warmup);
  const auto examples = static_cast<double>(batch);
  return {{"tokens", mean_tokens(model.header(), texts)},
          {"batch", batch},
          {"median_us", times.median_us / examples},
          {"p99_us", times.p99_us / examples},
          {"runs", runs}};
}

}  // namespace

std::string made_text(const Tokenizer& tokenizer, int64_t tokens, uint64_t seed) {
  RandomStream random(seed, static_cast<uint64_t>(tokens));
  std::string text;
  std::vector<int32_t> ids;
  for (int64_t tries = 0; tries < 200 * tokens + 200; ++tries) {
    ids.clear();
    if (tokenizer.encode(text, 0, ids).tokens == tokens) return text;
    std::string word = tokenizer.token(static_cast<int32_t>(random.below(static_cast<uint64_t>(tokenizer.vocabulary_size()))));
    std::erase_if(word, [](unsigned char c) { return c >= 0x80 || !std::isalpha(c); });
    if (word.empty()) continue;
    const std::string longer = text + (text.empty() ? "" : " ") + word;
    ids.clear();
    if (tokenizer.encode(longer, 0, ids).tokens <= tokens) text = longer;
  }
  throw UserError(
      fmt::format("no text of {} tokens could be made of the model's vocabulary; name other lengths with --tokens, or "
                  "texts with --input",
                  tokens));
}

nlohmann::json measure_text_latency(const std::filesystem::path& path, const LatencyOptions& options) {
  const TextModel model(Container::read(path), {.threads = static_cast<int>(options.threads), .calibrated = options.calibrated});
  const TextHeader& header = model.header();
  const int64_t count = std::max(fewest_texts, *std::max_element(options.batches.begin(), options.batches.end()));
  nlohmann::json results = nlohmann::json::array();
  Progress progress("measuring", std::ssize(options.batches) * (options.input.empty() ? std::ssize(options.tokens) : 1));
  const auto measure = [&](const std::vector<std::string>& texts) {
    for (const int64_t batch : options.batches) {
      progress.update(std::ssize(results), fmt::format("batch {}", batch));
      results.push_back(times_of_texts(model, texts, batch, options));
    }
  };
  if (!options.input.empty()) {
    measure(texts_of_file(options.input, options.delimiter, header, count));
  } else {
    for (const int64_t tokens : options.tokens) {
      if (tokens > header.max_tokens) continue;  // it would be cut
      std::vector<std::string> texts;
      for (int64_t i = 0; i < fewest_texts; ++i) texts.push_back(made_text(*header.tokenizer, tokens, static_cast<uint64_t>(i)));
      measure(texts);
    }
    if (results.empty())
      throw UserError(fmt::format("the model reads at most {} tokens of a text; name fewer with --tokens", header.max_tokens));
  }
  constexpr std::array<const char*, 3> products = {"float32", "bfloat16", "int8"};
  return {{"model", path.string()},
          {"kind", "text"},
          {"column", header.column},
          {"classes", header.classes.size()},
          {"memory_bytes", model.memory_bytes()},
          {"products", products.at(static_cast<size_t>(model.program().numbers()))},
          {"threads", options.threads},
          {"calibrated", options.calibrated},
          {"texts_from", options.input.empty() ? "vocabulary" : options.input.string()},
          {"warmup", options.warmup},
          {"results", results}};
}

std::string describe_text_latency(const nlohmann::json& measured) {
  std::string text = fmt::format("{}: products in {}, {} thread{}, microseconds per text\n{:>8}{:>8}{:>14}{:>14}{:>8}\n",
                                 measured["model"].get<std::string>(), measured["products"].get<std::string>(),
                                 measured["threads"].get<int64_t>(), measured["threads"] == 1 ? "" : "s", "tokens", "batch",
                                 "median", "p99", "runs");
  for (const auto& result : measured["results"]) {
    text += fmt::format("{:>8.0f}{:>8}{:>14.1f}{:>14.1f}{:>8}\n", result["tokens"].get<double>(), result["batch"].get<int64_t>(),
                        result["median_us"].get<double>(), result["p99_us"].get<double>(), result["runs"].get<int64_t>());
  }
  return text;
}

}  // namespace l0gm
