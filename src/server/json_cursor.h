#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace l0gm {

// A walk through a JSON text without a tree. Texts with escapes are decoded where they stand, so that a string is a view of the
// body and nothing is allocated; the body is spent then. Every mistake is a RequestError with its place.
//   JsonCursor cursor(body);
//   cursor.open('{');  while (cursor.next('}')) { key = cursor.key();  … }  cursor.end();
class JsonCursor {
 public:
  explicit JsonCursor(std::string& body) : begin_(body.data()), at_(begin_), end_(begin_ + body.size()) {}

  char peek();  // the first byte of the next value; '\0' at the end
  void open(char bracket);
  bool next(char closing);  // inside brackets: whether another member follows; consumes the comma, or the closing bracket
  std::string_view key();   // of a member, with its colon
  bool take(std::string_view spelled);  // whether exactly this comes next; then it is passed over
  std::string_view text();
  std::string_view number();  // as it is spelled
  bool boolean();
  void null();
  void skip();  // a whole value, checked and left as it is
  void end();   // nothing may follow
  [[noreturn]] void refuse(const std::string& what) const;

  // Places, for what is read out of order.
  char* place() const { return at_; }
  void go_to(char* place) { at_ = place, first_ = false; }

 private:
  void skip_space();
  void word(std::string_view spelled);
  void skip_text();
  char* unescape(char* to);
  unsigned code_unit();
  char* code_point(char* to);

  char *begin_, *at_, *end_;
  bool first_ = false;  // the next member is the first one of its brackets
};

}  // namespace l0gm
