#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/http_message.h"
#include "server/request_rows.h"
#include "server/served_model.h"
#include "server/server_metrics.h"

namespace l0gm {

using ServerClock = std::chrono::steady_clock;

enum class BodyFormat { json, csv };

// A request for predictions on its way: read, waiting, computed. Its body must not move: cells point into it.
struct PredictJob {
  uint64_t connection = 0;
  std::shared_ptr<const ServedModel> model;  // the one that was served when the request came
  ModelMetrics* metrics = nullptr;
  BodyFormat format = BodyFormat::json, answer = BodyFormat::json;
  std::optional<bool> calibrated;  // as the address asks; a body's own wish must agree
  char delimiter = ',';
  std::string body;
  ServerClock::time_point arrived;

  // Filled by the worker.
  RequestRows rows;
  const Predictor* predictor = nullptr;
  int64_t cost = 0;

  // Reads the body into rows; RequestError when it will not do.
  void read(int64_t most_rows);
  // The answer, from probabilities of its rows [rows, classes] and what was counted in them.
  HttpResponse answer_of(const std::vector<float>& probabilities, size_t first, const InputCounts* counts) const;
};

}  // namespace l0gm
