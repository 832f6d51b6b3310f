#pragma once

#include <cstdio>
#include <string>

// Archives for tests, member by member.
namespace l0gm::tar_tools {

inline void set(std::string& header, size_t at, const std::string& text) { header.replace(at, text.size(), text); }

inline std::string octal(int64_t value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%0*llo", digits, static_cast<unsigned long long>(value));
  return text;
}

inline void seal(std::string& header) {
  set(header, 148, std::string(8, ' '));
  int64_t sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  set(header, 148, octal(sum, 6) + std::string("\0 ", 2));
}

inline std::string header_of(const std::string& name, int64_t size, char kind = '0', const std::string& prefix = "") {
  std::string header(512, '\0');
  set(header, 0, name);
  set(header, 124, octal(size, 11));
  header[156] = kind;
  set(header, 257, "ustar");
  set(header, 345, prefix);
  seal(header);
  return header;
}

inline std::string member(const std::string& name, const std::string& content, char kind = '0', const std::string& prefix = "") {
  std::string bytes = header_of(name, static_cast<int64_t>(content.size()), kind, prefix) + content;
  return bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

inline std::string end() { return std::string(1024, '\0'); }

}  // namespace l0gm::tar_tools
