#include "server/predict_workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/request_error.h"

namespace l0gm {
namespace {

constexpr int64_t share_of_budget = 16;  // a batch of more work than this share is not gathered by one worker alone
// What is predicted by the thread that receives requests keeps others waiting: no more than some tenths of a millisecond.
constexpr size_t most_bytes_here = 4096, most_bytes_of_all_here = 65536;
constexpr double most_row_seconds_here = 5e-6, most_seconds_here = 3e-4;
constexpr size_t most_looked_through = 64;  // waiting requests, for one of the same model

void clear(InputCounts& counts) {
  for (std::vector<int64_t>* numbers : {&counts.unseen, &counts.unreadable, &counts.missing}) {
    std::fill(numbers->begin(), numbers->end(), 0);
  }
}

bool any(const std::vector<int64_t>& numbers) {
  return std::any_of(numbers.begin(), numbers.end(), [](int64_t number) { return number != 0; });
}

}  // namespace

// What one worker holds; memory is kept from batch to batch.
struct PredictWorkers::Batch {
  std::vector<std::unique_ptr<PredictJob>> jobs;  // of one model and one predictor
  std::unique_ptr<PredictJob> next;               // read already, but of another kind or too much for this batch
  int64_t rows = 0, cost = 0;
  std::vector<std::string_view> cells;
  std::vector<float> probabilities;
  InputCounts counts;
  std::vector<Reply> replies;

  void start() {
    jobs.clear();
    rows = cost = 0;
  }
  void add(std::unique_ptr<PredictJob> job) {
    rows += job->rows.rows;
    cost += job->cost;
    jobs.push_back(std::move(job));
  }
  bool takes(const PredictJob& job) const { return jobs.empty() || jobs.front()->predictor == job.predictor; }
};

PredictWorkers::PredictWorkers(BatchOptions options, Deliver deliver)
    : options_(options), deliver_(std::move(deliver)), here_(std::make_unique<Batch>()) {
  for (int i = 0; i < std::max(options_.threads, 1); ++i) threads_.emplace_back([this] { work(); });
}

void PredictWorkers::abandon() {
  abandoned_ = true;
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

PredictWorkers::~PredictWorkers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void PredictWorkers::push(std::vector<std::unique_ptr<PredictJob>>& jobs) {
  {
    const std::lock_guard lock(mutex_);
    std::move(jobs.begin(), jobs.end(), std::back_inserter(waiting_));
  }
  // One worker, which wakes another where there is more than a little to do. A worker that waits for further requests of its own
  // model leaves others alone: then all must look.
  options_.wait.count() == 0 ? arrived_.notify_one() : arrived_.notify_all();
}

void PredictWorkers::wake_another() {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) return;
  }
  arrived_.notify_one();
}

// The next request of this model, or of any; null when none comes until then, and at the end.
std::unique_ptr<PredictJob> PredictWorkers::take(const ServedModel* of, ServerClock::time_point until) {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), most_looked_through));
    const auto found =
        std::find_if(waiting_.begin(), end, [of](const auto& job) { return of == nullptr || job->model.get() == of; });
    if (found != end) {
      std::unique_ptr<PredictJob> job = std::move(*found);
      waiting_.erase(found);
      return job;
    }
    if (stopping_) return nullptr;
    if (of == nullptr) {
      arrived_.wait(lock);
    } else if (until <= ServerClock::now() || arrived_.wait_until(lock, until) == std::cv_status::timeout) {
      return nullptr;
    }
  }
}

int64_t PredictWorkers::budget(const PredictJob& job) const {
  return job.predictor->reads_texts() ? options_.tokens : options_.rows;
}

// Whether the request can be predicted; else it is answered.
bool PredictWorkers::read(PredictJob& job, Batch& batch) const {
  try {
    if (ServerClock::now() - job.arrived > options_.limit) {
      throw RequestError(503, fmt::format("the request waited longer than {} s for its turn; the server has too much to do",
                                          std::chrono::duration<double>(options_.limit).count()));
    }
    job.read(options_.most_rows);
    return true;
  } catch (const RequestError& error) {
    answer(job, error_response(error.status(), error.what()), batch);
  } catch (const std::exception& error) {
    log_error(fmt::format("internal: {}", error.what()));
    answer(job, error_response(500, "an error of the server; its log tells more"), batch);
  }
  return false;
}

// Requests of one model as long as there is room; false at the end.
bool PredictWorkers::gather(Batch& batch) {
  batch.start();
  std::unique_ptr<PredictJob> job = std::move(batch.next);
  if (job == nullptr) {
    job = take(nullptr, {});
    if (job == nullptr) return false;
    if (!read(*job, batch)) return true;
  }
  const auto until = job->arrived + options_.wait;
  bool shared = false;
  while (job != nullptr) {
    batch.add(std::move(job));
    const PredictJob& first = *batch.jobs.front();
    const int64_t most = budget(first);
    if (!shared && batch.cost >= most / share_of_budget) shared = true, wake_another();
    do {
      job = batch.cost < most ? take(first.model.get(), until) : nullptr;
    } while (job != nullptr && !read(*job, batch));
    if (job != nullptr && (!batch.takes(*job) || batch.cost + job->cost > most)) {
      batch.next = std::move(job);
    }
  }
  wake_another();
  return true;
}

bool PredictWorkers::is_small(const PredictJob& job) const {
  const double seconds = job.model->row_seconds();
  // As many rows as such a body can hold: a cell and what parts it from the next are two bytes.
  const double most_rows = static_cast<double>(job.body.size() / (2 * std::max<size_t>(1, job.model->columns().size())) + 1);
  return options_.wait.count() == 0 && job.body.size() <= most_bytes_here && seconds > 0 && seconds <= most_row_seconds_here &&
         seconds * most_rows <= most_seconds_here && job.model->predictor().concurrent() && !job.model->predictor().reads_texts();
}

std::vector<PredictWorkers::Reply> PredictWorkers::predict_here(std::vector<std::unique_ptr<PredictJob>>& jobs) {
  Batch& batch = *here_;
  size_t bytes = 0;
  batch.start();
  for (std::unique_ptr<PredictJob>& job : jobs) {
    if (bytes + job->body.size() > most_bytes_of_all_here || !is_small(*job)) continue;
    bytes += job->body.size();
    if (!read(*job, batch)) {
      job.reset();
      continue;
    }
    if (!batch.takes(*job)) {
      predict(batch);
      batch.start();
    }
    batch.add(std::move(job));
  }
  predict(batch);
  std::erase(jobs, nullptr);
  return std::exchange(batch.replies, {});
}

void PredictWorkers::answer(const PredictJob& job, HttpResponse response, Batch& batch) const {
  job.metrics->count_request(response.status);
  job.metrics->seconds.add(std::chrono::duration<double>(ServerClock::now() - job.arrived).count());
  batch.replies.emplace_back(job.connection, std::move(response));
}

// All rows of the batch at once. false: a row cannot be predicted, or a value was not seen, which concerns one request alone.
bool PredictWorkers::predict_together(Batch& batch) const {
  const PredictJob& first = *batch.jobs.front();
  std::vector<HttpResponse> answers;
  try {
    batch.probabilities.resize(static_cast<size_t>(batch.rows) * first.predictor->classes().size());
    batch.cells.clear();
    for (const auto& job : batch.jobs) batch.cells.insert(batch.cells.end(), job->rows.cells.begin(), job->rows.cells.end());
    first.model->predict(*first.predictor, {batch.cells, batch.rows}, batch.probabilities, batch.counts);
    if (any(batch.counts.unseen) || any(batch.counts.unreadable)) return false;
    size_t row = 0;
    for (const auto& job : batch.jobs) {
      answers.push_back(job->answer_of(batch.probabilities, row, nullptr));
      row += static_cast<size_t>(job->rows.rows);
    }
  } catch (const std::exception&) {
    return false;
  }
  first.metrics->count_rows(*first.predictor, batch.counts, batch.probabilities.data(), batch.rows);
  for (size_t i = 0; i < answers.size(); ++i) answer(*batch.jobs[i], std::move(answers[i]), batch);
  return true;
}

// One request, in parts of bounded work, until its time is over.
void PredictWorkers::predict_alone(const PredictJob& job, Batch& batch) const {
  const size_t width = job.predictor->columns().size(), classes = job.predictor->classes().size();
  const std::span<const std::string_view> cells = job.rows.cells;
  batch.probabilities.resize(static_cast<size_t>(job.rows.rows) * classes);
  clear(batch.counts);
  int64_t done = 0;
  while (done < job.rows.rows) {
    if (abandoned_ || ServerClock::now() - job.arrived > options_.limit) {
      throw RequestError(503, fmt::format("{} of {} rows were predicted when the time was over; send fewer at a time", done,
                                          job.rows.rows));
    }
    int64_t end = done, cost = 0;
    while (end < job.rows.rows && (end == done || cost < budget(job))) {
      cost += job.predictor->row_cost(cells.subspan(static_cast<size_t>(end++) * width, width));
    }
    const auto begin = static_cast<size_t>(done), count = static_cast<size_t>(end - done);
    try {
      job.model->predict(*job.predictor, {cells.subspan(begin * width, count * width), end - done},
                         std::span(batch.probabilities).subspan(begin * classes, count * classes), batch.counts);
    } catch (const RowError& error) {
      throw RequestError(400, fmt::format("row {}, counted from 0: {}", done + error.row(), error.what()));
    }
    done = end;
  }
}

void PredictWorkers::predict(Batch& batch) const {
  if (batch.jobs.empty()) return;
  const ServerClock::time_point start = ServerClock::now();
  batch.counts = batch.jobs.front()->predictor->empty_counts();
  if (batch.jobs.size() == 1 || !predict_together(batch)) {
    for (const auto& job : batch.jobs) predict_or_refuse(*job, batch);
  }
  const double seconds = std::chrono::duration<double>(ServerClock::now() - start).count();
  batch.jobs.front()->model->count_seconds(seconds / static_cast<double>(std::max<int64_t>(batch.rows, 1)));
}

void PredictWorkers::predict_or_refuse(const PredictJob& job, Batch& batch) const {
  try {
    predict_alone(job, batch);
    job.metrics->count_rows(*job.predictor, batch.counts, batch.probabilities.data(), job.rows.rows);
    answer(job, job.answer_of(batch.probabilities, 0, &batch.counts), batch);
  } catch (const RequestError& error) {
    answer(job, error_response(error.status(), error.what()), batch);
  } catch (const std::exception& error) {
    log_error(fmt::format("model '{}': {}", job.model->name(), error.what()));
    answer(job, error_response(500, "the model could not be computed; the server's log tells more"), batch);
  }
}

void PredictWorkers::work() {
  Batch batch;
  while (gather(batch)) {
    predict(batch);
    deliver_(std::move(batch.replies));
    batch.replies.clear();
  }
}

}  // namespace l0gm
