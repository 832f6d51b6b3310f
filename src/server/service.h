#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "server/http_server.h"
#include "server/model_store.h"
#include "server/predict_job.h"

namespace l0gm {

struct ServiceOptions {
  std::string token;       // "": none is asked for
  bool local_only = true;  // reachable from this machine alone: then requests must be addressed to it by a local name, so that
                           // a web page elsewhere cannot reach it through a visitor's browser
  int64_t most_rows = 10000;
};

// The addresses of the server and what each does.
class Service : public HttpHandler {
 public:
  using Jobs = std::vector<std::unique_ptr<PredictJob>>;
  using Replies = std::vector<std::pair<uint64_t, HttpResponse>>;
  using Push = std::function<Replies(Jobs&)>;  // takes all of them; answers that are ready at once
  Service(ServiceOptions options, const ModelStore& models, ServerMetrics& metrics, Push push);

  std::optional<HttpResponse> before_body(const HttpRequest& request) override;
  std::optional<HttpResponse> handle(HttpRequest request, uint64_t connection) override;
  Replies after_round() override;
  void on_stop() override { ready_ = false; }

 private:
  struct Route {
    std::string_view name;            // for the metrics
    bool post = false, open = false;  // open: without a token
    std::string model;
  };
  std::optional<Route> route_of(std::string_view path) const;
  std::optional<HttpResponse> refusal(const HttpRequest& request, const std::optional<Route>& route) const;
  bool has_token(std::string_view authorization) const;
  HttpResponse get(const Route& route) const;
  HttpResponse list_models() const;
  std::unique_ptr<PredictJob> make_job(HttpRequest& request, const Route& route, uint64_t connection) const;

  ServiceOptions options_;
  const ModelStore& models_;
  ServerMetrics& metrics_;
  Push push_;
  Jobs jobs_;  // of this round
  std::string page_headers_;
  bool ready_ = true;
};

}  // namespace l0gm
