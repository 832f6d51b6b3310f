#include "server/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "l0gm/error.h"
#include "server/listen.h"
#include "server/model_store.h"
#include "server/service.h"

namespace l0gm {
namespace {

constexpr size_t shortest_token = 16;
constexpr const char* token_variable = "L0GM_TOKEN";

std::chrono::milliseconds milliseconds(double seconds, const char* option) {
  constexpr double most = 86400;
  if (!(seconds >= 0 && seconds <= most)) throw UserError(fmt::format("{}: {} s; 0 to {} are possible", option, seconds, most));
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

int64_t at_least(int64_t value, int64_t least, const char* option) {
  if (value >= least) return value;
  throw UserError(fmt::format("{}: found {}, wanted at least {}", option, value, least));
}

HttpLimits limits_of(const ServeOptions& options) {
  HttpLimits limits;
  limits.body_bytes = static_cast<size_t>(at_least(options.most_body_bytes, 1, "--max-body"));
  limits.all_bodies_bytes = std::max(limits.all_bodies_bytes, 4 * limits.body_bytes);
  limits.connections = at_least(options.most_connections, 1, "--max-connections");
  limits.request = milliseconds(options.time_limit_seconds, "--time-limit");
  limits.idle = milliseconds(options.idle_seconds, "--idle");
  limits.answer = std::max(limits.idle, limits.request);
  limits.grace = milliseconds(options.grace_seconds, "--grace");
  return limits;
}

BatchOptions batches_of(const ServeOptions& options) {
  BatchOptions batches;
  batches.rows = at_least(options.batch_rows, 1, "--batch-rows");
  batches.tokens = at_least(options.batch_tokens, 1, "--batch-tokens");
  milliseconds(options.wait_milliseconds / 1000, "--batch-wait");
  batches.wait = std::chrono::microseconds(static_cast<int64_t>(options.wait_milliseconds * 1000));
  batches.limit = milliseconds(options.time_limit_seconds, "--time-limit");
  batches.most_rows = at_least(options.most_rows, 1, "--max-rows");
  const int64_t threads = at_least(options.threads, 0, "--threads");
  batches.threads =
      static_cast<int>(threads > 0 ? std::min<int64_t>(threads, 1024) : std::max(1U, std::thread::hardware_concurrency()));
  return batches;
}

// Looks at the models' files from time to time, until it is destroyed.
class Reloader {
 public:
  Reloader(ModelStore& models, std::chrono::milliseconds every) {
    if (every.count() == 0) return;
    thread_ = std::thread([this, &models, every] {
      std::unique_lock lock(mutex_);
      while (!ending_.wait_for(lock, every, [this] { return ends_; })) models.look();
    });
  }
  ~Reloader() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    ending_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ends_ = false;
  std::thread thread_;
};

std::atomic<HttpServer*> running{nullptr};  // for the signal handler, which can be handed nothing

void on_signal(int) {
  const int before = errno;  // the code that was interrupted may be about to read it
  if (HttpServer* server = running.load()) server->stop();
  errno = before;
}

class SignalsStopServer {
 public:
  explicit SignalsStopServer(HttpServer& server) {
    running = &server;
    struct sigaction action{};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }
  ~SignalsStopServer() { running = nullptr; }
};

void announce(const ServeOptions& options, const ModelStore& models, int port) {
  for (const ModelStore::Entry& entry : models.all()) {
    const Predictor& predictor = entry.model->predictor();
    log_info(fmt::format("model '{}', version {}: {} in, {} classes, {} probabilities", entry.model->name(),
                         entry.model->version(),
                         predictor.reads_texts() ? "texts" : fmt::format("{} columns", predictor.columns().size()),
                         predictor.classes().size(), predictor.is_calibrated() ? "calibrated" : "raw"));
  }
  const bool bare_ipv6 = options.host.find(':') != std::string::npos;
  fmt::print("http://{}{}{}:{}/\n", bare_ipv6 ? "[" : "", options.host, bare_ipv6 ? "]" : "", port);
  std::fflush(stdout);
}

}  // namespace

std::string read_token(const ServeOptions& options) {
  const char* const variable = std::getenv(token_variable);
  std::string token = variable == nullptr ? "" : variable;
  if (!options.token_file.empty()) token = read_file(options.token_file);
  token = std::string(trim(token));
  const std::string from = options.token_file.empty() ? token_variable : options.token_file;
  if (token.empty() && (!options.token_file.empty() || !is_loopback(options.host))) {
    throw UserError(
        fmt::format("others than this machine can reach {}, so that clients must bring a token, and {}: put one of at "
                    "least {} characters into a file and name it with --token-file, or into {}",
                    options.host, options.token_file.empty() ? "there is none" : options.token_file + " is empty", shortest_token,
                    token_variable));
  }
  const bool sound = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 127; });
  if (!token.empty() && (token.size() < shortest_token || !sound)) {
    throw UserError(
        fmt::format("the token of {} is too short or holds other than visible ASCII characters: wanted at least {} of them, as "
                    "`openssl rand -hex 24` gives",
                    from, shortest_token));
  }
  return token;
}

void serve(const ServeOptions& options) {
  const std::string token = read_token(options);
  std::vector<ModelSource> sources;
  for (const std::string& argument : options.models) sources.push_back(ModelSource::parse(argument));
  ServerMetrics metrics;
  ModelStore models(sources, metrics);
  std::unique_ptr<PredictWorkers> workers;
  Service service({token, is_loopback(options.host) && token.empty(), options.most_rows}, models, metrics,
                  [&workers](Service::Jobs& jobs) {
                    Service::Replies ready = workers->predict_here(jobs);
                    if (!jobs.empty()) workers->push(jobs);
                    return ready;
                  });
  HttpServer server(options.host, options.port, limits_of(options), service, metrics);
  workers = std::make_unique<PredictWorkers>(batches_of(options), [&](std::vector<PredictWorkers::Reply> replies) {
    for (const auto& [connection, response] : replies) metrics.count_answer("predict", response.status);
    server.reply(std::move(replies));
  });
  // The workers end before the server that they reply to, also when it throws.
  struct EndWorkers {
    std::unique_ptr<PredictWorkers>& workers;
    ~EndWorkers() { workers.reset(); }
  } const end_workers{workers};
  const Reloader reloader(models, milliseconds(options.reload_seconds, "--reload"));
  const SignalsStopServer signals(server);
  announce(options, models, server.port());
  server.run();
  workers->abandon();  // whoever could still be answered has been
  log_info("stopped");
}

}  // namespace l0gm
