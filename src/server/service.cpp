#include "server/service.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "encode/table/cell_text.h"
#include "server/openapi.h"
#include "server/page_headers.h"
#include "server/request_error.h"

namespace l0gm {

extern const std::string_view page_html;  // src/server/page.html

namespace {

constexpr std::string_view html = "text/html; charset=utf-8";
constexpr std::string_view prometheus = "text/plain; version=0.0.4; charset=utf-8";
constexpr std::string_view ask_for_token = "WWW-Authenticate: Bearer realm=\"l0gm\"\r\n";
constexpr std::string_view models_path = "/v1/models", predict_suffix = ":predict";

// Time does not tell how much of it was right.
bool equal_secrets(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

bool is_local_name(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1) == "[::1]";
  host = host.substr(0, host.find(':'));
  return lower(host) == "localhost" || (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

// The type alone, without its parameters.
std::string media_type(std::string_view value) { return lower(trim(value.substr(0, value.find(';')))); }

BodyFormat format_of(const HttpRequest& request) {
  const std::string type = media_type(request.content_type);
  if (type == "application/json") return BodyFormat::json;
  if (type == "text/csv") return BodyFormat::csv;
  throw RequestError(415, fmt::format("the body is '{}', wanted application/json or text/csv", type));
}

// As the client accepts; where it does not say, as it asked.
BodyFormat answer_of(const HttpRequest& request, BodyFormat asked) {
  const bool json = request.accept.find("application/json") != std::string::npos;
  const bool csv = request.accept.find("text/csv") != std::string::npos;
  if (json == csv) return asked;
  return csv ? BodyFormat::csv : BodyFormat::json;
}

std::optional<bool> calibrated_in(std::string_view query) {
  std::string value;
  if (!query_value(query, "calibrated", value)) return std::nullopt;
  if (value == "true" || value == "false") return value == "true";
  throw RequestError(400, fmt::format("calibrated={} in the address: true or false is wanted", value));
}

char delimiter_in(std::string_view query, char usual) {
  std::string value;
  if (!query_value(query, "delimiter", value)) return usual;
  if (value == "tab") return '\t';
  if (value.size() == 1 && can_separate(value[0])) return value[0];
  throw RequestError(400, "delimiter in the address: one ASCII character, or the word tab, is wanted");
}

}  // namespace

Service::Service(ServiceOptions options, const ModelStore& models, ServerMetrics& metrics, Push push)
    : options_(std::move(options)),
      models_(models),
      metrics_(metrics),
      push_(std::move(push)),
      page_headers_(page_headers(page_html)) {}

std::optional<Service::Route> Service::route_of(std::string_view path) const {
  if (path == "/") return Route{.name = "page", .open = true, .model = {}};
  if (path == "/healthz") return Route{.name = "healthz", .open = true, .model = {}};
  if (path == "/readyz") return Route{.name = "readyz", .open = true, .model = {}};
  if (path == "/metrics") return Route{.name = "metrics", .model = {}};
  if (path == "/openapi.json") return Route{.name = "openapi", .model = {}};
  if (path == models_path) return Route{.name = "models", .model = {}};
  if (!path.starts_with(models_path) || path[models_path.size()] != '/') return std::nullopt;
  path.remove_prefix(models_path.size() + 1);
  const bool predict = path.ends_with(predict_suffix);
  if (predict) path.remove_suffix(predict_suffix.size());
  return Route{.name = predict ? "predict" : "model", .post = predict, .model = std::string(path)};
}

bool Service::has_token(std::string_view authorization) const {
  constexpr std::string_view scheme = "bearer ";
  if (authorization.size() <= scheme.size() || lower(authorization.substr(0, scheme.size())) != scheme) return false;
  return equal_secrets(trim(authorization.substr(scheme.size())), options_.token);
}

std::optional<HttpResponse> Service::refusal(const HttpRequest& request, const std::optional<Route>& route) const {
  if (options_.local_only && !request.host.empty() && !is_local_name(request.host)) {
    return error_response(403,
                          "this server answers requests to this machine by a local name only, as http://127.0.0.1 or localhost");
  }
  if (!options_.token.empty() && !(route && route->open) && !has_token(request.authorization)) {
    HttpResponse response = error_response(401, "a token is wanted: Authorization: Bearer TOKEN");
    response.headers = ask_for_token;
    return response;
  }
  if (!route) return error_response(404, "there is nothing at this address; / shows a page, /openapi.json lists what there is");
  if (!route->model.empty() || route->post || route->name == "model") {
    if (models_.find(route->model).model == nullptr) {
      return error_response(404, fmt::format("there is no model '{}'; GET /v1/models lists them", route->model));
    }
  }
  const bool fits = route->post ? request.method == "POST" : request.method == "GET" || request.method == "HEAD";
  if (!fits) {
    HttpResponse response = error_response(405, fmt::format("{} is not possible here", request.method));
    response.headers = route->post ? "Allow: POST\r\n" : "Allow: GET, HEAD\r\n";
    return response;
  }
  return std::nullopt;
}

std::optional<HttpResponse> Service::before_body(const HttpRequest& request) {
  const std::optional<Route> route = route_of(request.path);
  std::optional<HttpResponse> response = refusal(request, route);
  try {
    if (!response && route->post) format_of(request);
  } catch (const RequestError& error) {
    response = error_response(error.status(), error.what());
  }
  if (response) metrics_.count_answer(route ? route->name : "none", response->status);
  return response;
}

std::optional<HttpResponse> Service::handle(HttpRequest request, uint64_t connection) {
  const std::optional<Route> route = route_of(request.path);
  std::optional<HttpResponse> response = refusal(request, route);
  if (!response && route->post) {
    try {
      jobs_.push_back(make_job(request, *route, connection));
      return std::nullopt;
    } catch (const RequestError& error) {
      response = error_response(error.status(), error.what());
      models_.find(route->model).metrics->count_request(error.status());
    }
  }
  if (!response) response = get(*route);
  metrics_.count_answer(route ? route->name : "none", response->status);
  return response;
}

Service::Replies Service::after_round() {
  Replies replies = jobs_.empty() ? Replies() : push_(jobs_);
  jobs_.clear();
  for (const auto& [connection, response] : replies) metrics_.count_answer("predict", response.status);
  return replies;
}

std::unique_ptr<PredictJob> Service::make_job(HttpRequest& request, const Route& route, uint64_t connection) const {
  auto job = std::make_unique<PredictJob>();
  const ModelStore::Entry entry = models_.find(route.model);
  job->connection = connection;
  job->model = entry.model;
  job->metrics = entry.metrics;
  job->format = format_of(request);
  job->answer = answer_of(request, job->format);
  job->calibrated = calibrated_in(request.query);
  job->delimiter = delimiter_in(request.query, entry.model->predictor().delimiter());
  job->body = std::move(request.body);
  job->arrived = ServerClock::now();
  return job;
}

HttpResponse Service::get(const Route& route) const {
  HttpResponse response;
  if (route.name == "page") {
    response.content_type = html;
    response.headers = page_headers_;
    response.body = page_html;
  } else if (route.name == "healthz") {
    response.body = "{\"status\": \"alive\"}\n";
  } else if (route.name == "readyz") {
    if (!ready_) return error_response(503, "the server is stopping");
    response.body = "{\"status\": \"ready\"}\n";
  } else if (route.name == "metrics") {
    response.content_type = prometheus;
    response.body = metrics_.text();
  } else if (route.name == "openapi") {
    response.body = openapi(models_.all(), options_.most_rows, !options_.token.empty()).dump(1) + "\n";
  } else if (route.name == "models") {
    return list_models();
  } else {
    response.body = models_.find(route.model).model->description();
  }
  return response;
}

HttpResponse Service::list_models() const {
  nlohmann::json models = nlohmann::json::array();
  for (const ModelStore::Entry& entry : models_.all()) {
    const Predictor& predictor = entry.model->predictor();
    models.push_back({{"name", entry.model->name()},
                      {"version", entry.model->version()},
                      {"input", predictor.reads_texts() ? "texts" : "rows"},
                      {"columns", predictor.columns()},
                      {"classes", predictor.classes()},
                      {"calibrated", predictor.is_calibrated()},
                      {"reload_refused", !entry.metrics->refusal().empty()}});
  }
  HttpResponse response;
  response.body = nlohmann::json{{"models", models}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  return response;
}

}  // namespace l0gm
