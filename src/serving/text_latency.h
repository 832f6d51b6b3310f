#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "encode/text/tokenizer.h"
#include "serving/latency.h"

namespace l0gm {

// The same as measure_latency() of a compact text model, from texts to probabilities: of texts made of words of its vocabulary
// with options.tokens tokens, or of the texts of options.input. A row of the table takes about half a minute at most: of calls
// that are long fewer are measured, and `runs` says how many. {model, column, classes, memory_bytes, products, threads,
// calibrated, texts_from, warmup, results: [{tokens, batch, median_us, p99_us, runs}]}; tokens: of a text, on average.
nlohmann::json measure_text_latency(const std::filesystem::path& model, const LatencyOptions& options);
std::string describe_text_latency(const nlohmann::json& measured);

// A text of exactly so many tokens, special ones included; UserError when the tokenizer's words make none.
std::string made_text(const Tokenizer& tokenizer, int64_t tokens, uint64_t seed);

}  // namespace l0gm
