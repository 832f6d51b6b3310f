#include "server/service.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/fake_predictor.h"

namespace l0gm {
namespace {

using testing_tools::FakePredictor;

class ServiceTest : public ::testing::Test {
 protected:
  Service make(ServiceOptions options) {
    return {std::move(options), models_, metrics_, [this](Service::Jobs& jobs) {
              std::move(jobs.begin(), jobs.end(), std::back_inserter(jobs_));
              return Service::Replies();
            }};
  }
  static HttpRequest request(std::string method, std::string path, std::string host = "127.0.0.1:80") {
    HttpRequest made;
    made.method = std::move(method);
    made.path = std::move(path);
    made.host = std::move(host);
    made.content_type = "application/json; charset=utf-8";
    return made;
  }
  // 0: the answer follows.
  static int status(Service& service, HttpRequest asked) {
    const auto response = service.handle(std::move(asked), 1);
    return response ? response->status : 0;
  }
  static std::shared_ptr<const ServedModel> open(const std::string& name, const std::filesystem::path&) {
    return std::make_shared<ServedModel>(name, std::make_unique<FakePredictor>(std::vector<std::string>{"p"}), nlohmann::json(),
                                         "v");
  }
  ServerMetrics metrics_;
  ModelStore models_{{{"m", "none"}}, metrics_, open};
  Service::Jobs jobs_;
};

TEST_F(ServiceTest, AddressesAndMethods) {
  Service service = make({});
  for (const char* path : {"/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/v1/models", "/v1/models/m"}) {
    EXPECT_EQ(status(service, request("GET", path)), 200) << path;
    EXPECT_EQ(status(service, request("HEAD", path)), 200) << path;
    EXPECT_EQ(status(service, request("POST", path)), 405) << path;
  }
  EXPECT_EQ(status(service, request("POST", "/v1/models/m:predict")), 0);
  EXPECT_EQ(status(service, request("GET", "/v1/models/m:predict")), 405);
  for (const char* path :
       {"/v1/models/", "/v1/models/x", "/v1/models/x:predict", "/v1/models/:predict", "/v1/modelsm", "/x", ""}) {
    EXPECT_EQ(status(service, request("GET", path)), 404) << path;
  }
}

TEST_F(ServiceTest, StoppingIsNotReady) {
  Service service = make({});
  service.on_stop();
  EXPECT_EQ(status(service, request("GET", "/readyz")), 503);
  EXPECT_EQ(status(service, request("GET", "/healthz")), 200);
}

TEST_F(ServiceTest, ATokenIsWantedForAllThatTells) {
  Service service = make({.token = "0123456789abcdef", .local_only = false});
  for (const char* path : {"/metrics", "/openapi.json", "/v1/models", "/v1/models/m", "/v1/models/m:predict", "/x"}) {
    const char* const method = std::string_view(path).ends_with("predict") ? "POST" : "GET";
    HttpRequest asked = request(method, path);
    EXPECT_EQ(status(service, asked), 401) << path;
    for (const char* wrong : {"Bearer", "Bearer ", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0", "Basic 0123456789abcdef",
                              "0123456789abcdef"}) {
      asked.authorization = wrong;
      EXPECT_EQ(status(service, asked), 401) << wrong;
    }
    asked.authorization = "bearer 0123456789abcdef";
    EXPECT_NE(status(service, asked), 401) << path;
  }
  for (const char* path : {"/", "/healthz", "/readyz"}) EXPECT_EQ(status(service, request("GET", path)), 200) << path;
}

TEST_F(ServiceTest, LocalServersHaveLocalNames) {
  Service service = make({});
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.1.2.3", "[::1]:8080", ""}) {
    EXPECT_EQ(status(service, request("GET", "/v1/models", host)), 200) << host;
  }
  for (const char* host : {"example.com", "127.0.0.1.example.com", "127.evil", "localhost.example.com:80", "[::2]"}) {
    EXPECT_EQ(status(service, request("GET", "/v1/models", host)), 403) << host;
  }
  Service open_to_all = make({.token = "0123456789abcdef", .local_only = false});
  HttpRequest asked = request("GET", "/v1/models", "example.com");
  asked.authorization = "Bearer 0123456789abcdef";
  EXPECT_EQ(status(open_to_all, asked), 200);
}

TEST_F(ServiceTest, RefusesBeforeTheBodyIsRead) {
  Service service = make({});
  HttpRequest asked = request("POST", "/v1/models/m:predict");
  EXPECT_FALSE(service.before_body(asked));
  asked.content_type = "text/plain";
  EXPECT_EQ(service.before_body(asked)->status, 415);
  asked.path = "/v1/models/x:predict";
  EXPECT_EQ(service.before_body(asked)->status, 404);
  EXPECT_EQ(service.before_body(request("GET", "/v1/models/m:predict"))->status, 405);
}

TEST_F(ServiceTest, JobsCarryWhatWasAsked) {
  Service service = make({});
  HttpRequest asked = request("POST", "/v1/models/m:predict");
  asked.query = "calibrated=false&delimiter=tab";
  asked.content_type = "text/csv";
  asked.accept = "application/json";
  asked.body = "body";
  EXPECT_EQ(status(service, asked), 0);
  EXPECT_TRUE(jobs_.empty()) << "gathered until all that has arrived was handled";
  service.after_round();
  ASSERT_EQ(jobs_.size(), 1U);
  const PredictJob& job = *jobs_[0];
  EXPECT_EQ(job.connection, 1U);
  EXPECT_EQ(job.calibrated, false);
  EXPECT_EQ(job.delimiter, '\t');
  EXPECT_EQ(job.format, BodyFormat::csv);
  EXPECT_EQ(job.answer, BodyFormat::json);
  EXPECT_EQ(job.body, "body");
  for (const char* query : {"calibrated=1", "delimiter=", "delimiter=%22", "delimiter=ab"}) {
    asked.query = query;
    EXPECT_EQ(status(service, asked), 400) << query;
  }
}

TEST_F(ServiceTest, ThePageKeepsToItself) {
  Service service = make({});
  const auto page = service.handle(request("GET", "/"), 1);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->headers.find("unsafe"), page->headers.npos);
  EXPECT_NE(page->headers.find("default-src 'none'"), page->headers.npos);
  for (const char* word :
       {"http://", "https://", "innerHTML", "insertAdjacentHTML", "document.write", "eval(", " style=", " onclick=\""}) {
    size_t at = page->body.find(word);
    if (std::string_view(word) == "http://") {  // a name and no address
      EXPECT_EQ(page->body.substr(at, 26), "http://www.w3.org/2000/svg");
      at = page->body.find(word, at + 1);
    }
    EXPECT_EQ(at, std::string::npos) << word;
  }
}

}  // namespace
}  // namespace l0gm
