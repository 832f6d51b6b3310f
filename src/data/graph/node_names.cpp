#include "data/graph/node_names.h"

#include <fmt/format.h>

#include <limits>

#include "base/text.h"
#include "l0gm/error.h"

namespace l0gm {

void NodeNames::number(int64_t count) {
  numbered_ = true;
  count_ = count;
}

void NodeNames::add(std::string_view name, const std::filesystem::path& path, int64_t line) {
  const std::string_view plain = trim(name);
  if (plain.empty())
    throw UserError(fmt::format("{} line {}: a node has no name. The first column names the node.", path.string(), line));
  if (count_ == std::numeric_limits<int32_t>::max()) throw UserError(fmt::format("{} has too many nodes.", path.string()));
  const bool added = by_name_.emplace(std::string(plain), count_).second;
  if (!added)
    throw UserError(
        fmt::format("{} line {}: node '{}' occurs a second time. Each node has one line.", path.string(), line, plain));
  names_.emplace_back(plain);
  count_ += 1;
}

int64_t NodeNames::lookup(std::string_view name) const {
  const std::string_view plain = trim(name);
  if (numbered_) {
    const auto number = parse_integer(plain);
    return number && *number >= 0 && *number < count_ ? *number : -1;
  }
  const auto found = by_name_.find(plain);
  return found == by_name_.end() ? -1 : found->second;
}

int64_t NodeNames::find(std::string_view name) const {
  const int64_t node = lookup(name);
  if (node >= 0) return node;
  const std::string which =
      numbered_ ? fmt::format("has {} rows, so nodes are numbered from 0 to {}", with_thousands(count_), count_ - 1)
                : fmt::format("has {} nodes, and none of that name", with_thousands(count_));
  throw UserError(fmt::format("there is no node '{}': {} {}. Add its attributes there, or remove the line.",
                              trim(name).substr(0, 100), source_, which));
}

int64_t NodeNames::find(std::string_view name, const std::filesystem::path& path, int64_t line) const {
  try {
    return find(name);
  } catch (const UserError& error) {
    throw UserError(fmt::format("{} line {}: {}", path.string(), line, error.what()));
  }
}

}  // namespace l0gm
