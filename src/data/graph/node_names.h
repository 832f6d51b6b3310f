#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace l0gm {

// Nodes by name, numbered in the order of add(), or by number only. Blanks around a name are ignored.
class NodeNames {
 public:
  // `source`: the file that defines the nodes, for messages.
  explicit NodeNames(std::string source = {}) : source_(std::move(source)) {}
  void number(int64_t count);  // nodes are called 0 … count - 1
  // UserError when the name is empty or used already.
  void add(std::string_view name, const std::filesystem::path& path, int64_t line);
  int64_t count() const { return count_; }
  bool has(std::string_view name) const { return lookup(name) >= 0; }
  int64_t find(std::string_view name, const std::filesystem::path& path, int64_t line) const;  // UserError naming all three
  int64_t find(std::string_view name) const;                        // UserError naming it and the source
  const std::vector<std::string>& names() const { return names_; }  // empty: numbers

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  int64_t lookup(std::string_view name) const;  // -1: unknown
  std::string source_;
  bool numbered_ = false;
  int64_t count_ = 0;
  std::vector<std::string> names_;
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> by_name_;
};

}  // namespace l0gm
