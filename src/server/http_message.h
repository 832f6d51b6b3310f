#pragma once

#include <ctime>
#include <string>
#include <string_view>

// What passes between the HTTP part and the service: whole requests in, whole responses out.
namespace l0gm {

struct HttpRequest {
  std::string method;  // as the client spelled it
  std::string path;    // decoded, without the query
  std::string query;   // as it was sent, without the question mark
  // The headers that are looked at; "" where there is none.
  std::string host, content_type, accept, authorization;
  bool keep_alive = true;
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string_view content_type = "application/json";
  std::string body;
  std::string_view headers = {};  // further lines, each with its end; texts of the program that outlive the response
};

std::string_view reason_of(int status);  // "Not Found"

// {"error": {"status": 404, "message": "…"}}
HttpResponse error_response(int status, std::string_view message);

std::string http_date(std::time_t second);  // "Tue, 17 Nov 2026 15:42:23 GMT"

// The head of a response, appended to `out`. `date`: as in the header of that name.
void append_head(const HttpResponse& response, bool keep_alive, std::string_view date, std::string& out);

// A text as JSON, in quotes. What is no UTF-8 is replaced.
void append_json_text(std::string& out, std::string_view text);

// The value of a parameter of a query (a=1&b=2), decoded; false where it is not there.
bool query_value(std::string_view query, std::string_view name, std::string& value);

// %41 becomes A; false for what is no such code, and for a zero byte.
bool decode_percents(std::string_view text, std::string& out);

}  // namespace l0gm
