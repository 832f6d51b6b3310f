#include "server/server_metrics.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/text.h"

namespace l0gm {
namespace {

double now_seconds() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

// name="value", with what the format wants escaped.
std::string label(std::string_view name, std::string_view value) {
  std::string text = fmt::format("{}=\"", name);
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    c == '\n' ? text += "\\n" : text += c;
  }
  return text + '"';
}

int64_t resident_bytes() {
  long long pages = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lld %lld", &pages, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace

void Histogram::add(double value) {
  const auto place = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<size_t>(place)].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

void Histogram::write(std::string& out, std::string_view name, std::string_view labels) const {
  int64_t total = 0;
  const std::string comma = labels.empty() ? "" : ",";
  for (size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i].load(std::memory_order_relaxed);
    const std::string bound = i < bounds_.size() ? shortest(bounds_[i]) : "+Inf";
    out += fmt::format("{}_bucket{{{}{}le=\"{}\"}} {}\n", name, labels, comma, bound, total);
  }
  out += fmt::format("{0}_sum{{{1}}} {2}\n{0}_count{{{1}}} {3}\n", name, labels, shortest(sum_.load()), total);
}

ModelMetrics::ModelMetrics()
    : seconds({0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}),
      batch_rows({1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096}) {}

void ModelMetrics::count_request(int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[status];
}

void ModelMetrics::count_rows(const Predictor& predictor, const InputCounts& counts, const float* probabilities, int64_t rows) {
  const std::vector<std::string>&names = predictor.columns(), &classes = predictor.classes();
  batch_rows.add(static_cast<double>(rows));
  const std::lock_guard lock(mutex_);
  rows_ += rows;
  for (size_t c = 0; c < names.size(); ++c) {
    if (counts.unseen[c] + counts.unreadable[c] + counts.missing[c] == 0) continue;
    OfColumn& column = columns_[names[c]];
    column.unseen += counts.unseen[c];
    column.unreadable += counts.unreadable[c];
    column.missing += counts.missing[c];
  }
  for (size_t c = 0; c < classes.size(); ++c) {
    double sum = 0;
    for (int64_t row = 0; row < rows; ++row) sum += probabilities[static_cast<size_t>(row) * classes.size() + c];
    classes_[classes[c]].sum += sum;
  }
}

void ModelMetrics::loaded(const ServedModel& model) {
  const std::lock_guard lock(mutex_);
  if (loaded_at_ > 0) ++reloads_;
  loaded_at_ = now_seconds();
  version_ = model.version();
  refusal_.clear();
  const Predictor& predictor = model.predictor();
  for (auto& [name, column] : columns_) column.training_missing = -1;
  for (size_t c = 0; c < predictor.columns().size(); ++c) {
    OfColumn& column = columns_[predictor.columns()[c]];
    if (!model.training_missing().empty()) column.training_missing = model.training_missing()[c];
  }
  for (size_t c = 0; c < predictor.classes().size(); ++c) {
    OfClass& of = classes_[predictor.classes()[c]];
    if (!model.training_shares().empty()) of.training_share = model.training_shares()[c];
  }
}

void ModelMetrics::refused_reload(const std::string& message) {
  const std::lock_guard lock(mutex_);
  ++refused_reloads_;
  refusal_ = message;
}

std::string ModelMetrics::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

ModelMetrics& ServerMetrics::add_model(const std::string& name) {
  return *models_.emplace(name, std::make_unique<ModelMetrics>()).first->second;
}

void ServerMetrics::count_answer(std::string_view route, int status) {
  const std::lock_guard lock(mutex_);
  ++answers_[{std::string(route), status}];
}

// Prometheus wants all lines of one name together, behind its help.
struct ServerMetrics::Writer {
  const ServerMetrics& metrics;
  std::string out;

  void begin(std::string_view name, std::string_view type, std::string_view help) {
    out += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  template <class Number>
  void line(std::string_view name, std::string_view labels, Number value) {
    out += labels.empty() ? fmt::format("{} {}\n", name, value) : fmt::format("{}{{{}}} {}\n", name, labels, value);
  }
  template <class Number>
  void single(std::string_view name, std::string_view type, std::string_view help, Number value) {
    begin(name, type, help);
    line(name, "", value);
  }
  // write(metrics of a model, its label) for each model.
  template <class Write>
  void each(std::string_view name, std::string_view type, std::string_view help, const Write& write) {
    begin(name, type, help);
    for (const auto& [model, of] : metrics.models_) {
      const std::lock_guard lock(of->mutex_);
      write(*of, label("model", model));
    }
  }
  // A line per model with number(metrics).
  template <class Number>
  void by_model(std::string_view name, std::string_view type, std::string_view help, const Number& number) {
    each(name, type, help, [&](const ModelMetrics& m, const std::string& model) { line(name, model, number(m)); });
  }
  // A line per model and column with number(of the column); negative: none.
  template <class Number>
  void by_column(std::string_view name, std::string_view type, std::string_view help, const Number& number) {
    each(name, type, help, [&](const ModelMetrics& m, const std::string& model) {
      for (const auto& [column, of] : m.columns_) {
        if (number(of) >= 0) line(name, model + ',' + label("column", column), number(of));
      }
    });
  }
  // A line per model and class with number(of the class, rows of the model); negative: none.
  template <class Number>
  void by_class(std::string_view name, std::string_view type, std::string_view help, const Number& number) {
    each(name, type, help, [&](const ModelMetrics& m, const std::string& model) {
      for (const auto& [class_name, of] : m.classes_) {
        if (number(of, m.rows_) >= 0) line(name, model + ',' + label("class", class_name), number(of, m.rows_));
      }
    });
  }
  void server();
  void requests();
  void inputs();
  void models();
};

void ServerMetrics::Writer::server() {
  single("l0gm_connections", "gauge", "Open connections.", metrics.connections.load());
  single("l0gm_connections_total", "counter", "Connections accepted.", metrics.accepted.load());
  single("l0gm_refused_connections_total", "counter", "Connections refused at the limit.", metrics.refused_connections.load());
  single("l0gm_evicted_connections_total", "counter", "Idle connections closed for new ones at the limit.",
         metrics.evicted_connections.load());
  single("l0gm_timeouts_total", "counter", "Connections closed because a request or its answer took too long.",
         metrics.timeouts.load());
  single("l0gm_bad_requests_total", "counter", "Requests that were not HTTP, or beyond a limit.", metrics.bad_requests.load());
  single("process_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes());
  begin("l0gm_answers_total", "counter", "Answers by route and status.");
  const std::lock_guard lock(metrics.mutex_);
  for (const auto& [key, count] : metrics.answers_) {
    line("l0gm_answers_total", label("route", key.first) + fmt::format(",code=\"{}\"", key.second), count);
  }
}

void ServerMetrics::Writer::requests() {
  each("l0gm_requests_total", "counter", "Requests for predictions, by status.", [&](const auto& m, const std::string& model) {
    for (const auto& [status, count] : m.requests_) {
      line("l0gm_requests_total", model + fmt::format(",code=\"{}\"", status), count);
    }
  });
  by_model("l0gm_rows_total", "counter", "Rows predicted.", [](const auto& m) { return m.rows_; });
  each("l0gm_request_seconds", "histogram", "Seconds from the last byte of a request to its answer.",
       [&](const auto& m, const std::string& model) { m.seconds.write(out, "l0gm_request_seconds", model); });
  each("l0gm_batch_rows", "histogram", "Rows that were predicted together.",
       [&](const auto& m, const std::string& model) { m.batch_rows.write(out, "l0gm_batch_rows", model); });
}

void ServerMetrics::Writer::inputs() {
  by_column("l0gm_unseen_total", "counter", "Cells with a category that training did not see.",
            [](const auto& column) { return column.unseen; });
  by_column("l0gm_unreadable_total", "counter", "Cells of a numeric column that are no numbers.",
            [](const auto& column) { return column.unreadable; });
  by_column("l0gm_missing_total", "counter", "Cells that are missing.", [](const auto& column) { return column.missing; });
  by_column("l0gm_training_missing_share", "gauge", "Share of training rows in which the column is missing.",
            [](const auto& column) { return column.training_missing; });
  by_class("l0gm_score_sum", "counter",
           "Sum of a class's probabilities; its rate over that of l0gm_rows_total is the mean score.",
           [](const auto& of, int64_t) { return of.sum; });
  by_class("l0gm_mean_score", "gauge", "Mean probability of a class since the start.",
           [](const auto& of, int64_t rows) { return rows > 0 ? of.sum / static_cast<double>(rows) : -1; });
  by_class("l0gm_training_share", "gauge", "Share of a class among training rows.",
           [](const auto& of, int64_t) { return of.training_share; });
}

void ServerMetrics::Writer::models() {
  each("l0gm_model_info", "gauge", "The file that is served: its version.",
       [&](const auto& m, const std::string& model) { line("l0gm_model_info", model + ',' + label("version", m.version_), 1); });
  by_model("l0gm_model_loaded_seconds", "gauge", "When the file was read, in seconds since 1970.",
           [](const auto& m) { return fmt::format("{:.3f}", m.loaded_at_); });
  by_model("l0gm_reloads_total", "counter", "Changed files that took the place of the one before.",
           [](const auto& m) { return m.reloads_; });
  by_model("l0gm_refused_reloads_total", "counter", "Changed files that were refused; the model before goes on serving.",
           [](const auto& m) { return m.refused_reloads_; });
  by_model("l0gm_reload_refused", "gauge", "1 while the file that lies there is refused and the model before goes on serving.",
           [](const auto& m) { return m.refusal_.empty() ? 0 : 1; });
}

std::string ServerMetrics::text() const {
  Writer writer{*this, {}};
  writer.server();
  writer.requests();
  writer.inputs();
  writer.models();
  return std::move(writer.out);
}

}  // namespace l0gm
