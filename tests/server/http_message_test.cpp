#include "server/http_message.h"

#include <gtest/gtest.h>

namespace l0gm {
namespace {

TEST(HttpMessage, TextsBecomeJson) {
  std::string out;
  append_json_text(out, "a\"b\\c\n\x01 é<script>\x7f");
  EXPECT_EQ(out, "\"a\\\"b\\\\c\\u000a\\u0001 é<script>\\u007f\"");
}

TEST(HttpMessage, WhatIsNoUtf8IsReplaced) {
  std::string out;
  append_json_text(out, "a\xff\xc3");
  EXPECT_EQ(out, "\"a\xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST(HttpMessage, PercentsAreDecoded) {
  std::string out;
  EXPECT_TRUE(decode_percents("/a%20b%C3%a9", out));
  EXPECT_EQ(out, "/a bé");
  for (const char* wrong : {"%", "%2", "%zz", "%00"}) EXPECT_FALSE(decode_percents(wrong, out)) << wrong;
}

TEST(HttpMessage, QueryValues) {
  std::string value;
  EXPECT_TRUE(query_value("a=1&delimiter=%3B&c", "delimiter", value));
  EXPECT_EQ(value, ";");
  EXPECT_TRUE(query_value("a=1&c", "c", value));
  EXPECT_EQ(value, "");
  EXPECT_FALSE(query_value("ab=1&c", "a", value));
}

TEST(HttpMessage, Dates) { EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT"); }

TEST(HttpMessage, HeadSaysWhatFollows) {
  HttpResponse response = error_response(404, "no");
  response.headers = "X-Own: 1\r\n";
  std::string head;
  append_head(response, false, "today", head);
  EXPECT_TRUE(head.starts_with("HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: " +
                               std::to_string(response.body.size()) + "\r\n"));
  EXPECT_NE(head.find("Connection: close\r\n"), head.npos);
  EXPECT_TRUE(head.ends_with("X-Own: 1\r\n\r\n"));
}

}  // namespace
}  // namespace l0gm
