#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "l0gm/input_counts.h"
#include "server/served_model.h"

// Figures of GET /metrics, in Prometheus' text format. Counters are since the start, whichever file served.
namespace l0gm {

// Counts values into ranges; any thread may add.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  void add(double value);
  void write(std::string& out, std::string_view name, std::string_view labels) const;

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<int64_t>> counts_;
  std::atomic<double> sum_{0};
};

// Of one model.
class ModelMetrics {
 public:
  ModelMetrics();
  Histogram seconds;     // from the last byte of a request to its answer
  Histogram batch_rows;  // that were predicted together
  void count_request(int status);
  // probabilities: rows x classes.
  void count_rows(const Predictor& predictor, const InputCounts& counts, const float* probabilities, int64_t rows);
  void loaded(const ServedModel& model);            // at the start and after each reload
  void refused_reload(const std::string& message);  // the file has changed and is not served
  std::string refusal() const;                      // why; "" when the file that lies there is served

 private:
  friend class ServerMetrics;
  struct OfColumn {
    int64_t unseen = 0, unreadable = 0, missing = 0;
    double training_missing = -1;
  };
  struct OfClass {
    double sum = 0;
    double training_share = -1;
  };
  mutable std::mutex mutex_;
  std::map<int, int64_t> requests_;
  int64_t rows_ = 0, reloads_ = 0, refused_reloads_ = 0;
  std::map<std::string, OfColumn> columns_;
  std::map<std::string, OfClass> classes_;
  std::string version_, refusal_;
  double loaded_at_ = 0;
};

class ServerMetrics {
 public:
  ModelMetrics& add_model(const std::string& name);  // before the server starts
  std::atomic<int64_t> connections{0}, accepted{0}, refused_connections{0}, evicted_connections{0}, timeouts{0}, bad_requests{0};
  void count_answer(std::string_view route, int status);
  std::string text() const;

 private:
  struct Writer;
  std::map<std::string, std::unique_ptr<ModelMetrics>> models_;
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> answers_;
};

}  // namespace l0gm
