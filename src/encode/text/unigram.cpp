#include "encode/text/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "encode/text/utf8.h"
#include "encode/text/workspace.h"

namespace l0gm {

Unigram::Unigram(const std::vector<std::pair<std::string, int32_t>>& vocabulary, std::vector<double> scores, Options options)
    : options_(options), scores_(std::move(scores)) {
  constexpr double unknown_penalty = 10;
  std::vector<std::pair<std::string_view, int32_t>> words;
  for (const auto& [token, id] : vocabulary) {
    if (!token.empty()) words.emplace_back(token, id);
  }
  pieces_ = ByteTrie(std::move(words));
  unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - unknown_penalty;
  fallback_ids_.fill(-1);
  if (!options_.byte_fallback) return;
  for (int byte = 0; byte < 256; ++byte) fallback_ids_[static_cast<size_t>(byte)] = pieces_.find(fmt::format("<0x{:02X}>", byte));
}

void Unigram::find_best_path(std::string_view word, std::vector<UnigramNode>& nodes) const {
  nodes.assign(word.size() + 1, {});
  for (size_t begin = 0; begin < word.size();) {
    const size_t character = code_size(word[begin]);
    const double so_far = nodes[begin].score;
    bool covered = false;
    const auto offer = [&](size_t length, int32_t id, double score) {
      UnigramNode& node = nodes[begin + length];
      if (node.begin < 0 || so_far + score > node.score) node = {so_far + score, static_cast<int32_t>(begin), id};
    };
    pieces_.walk(word.substr(begin), [&](size_t length, int32_t id) {
      offer(length, id, scores_[static_cast<size_t>(id)]);
      covered = covered || length == character;
    });
    if (!covered) offer(character, options_.unknown, unknown_score_);
    begin += character;
  }
}

// Unknown characters side by side are one token, or their bytes.
void Unigram::add_unknown(std::string_view text, std::vector<int32_t>& ids) const {
  if (const int32_t id = pieces_.find(text); id >= 0) return ids.push_back(id);
  const auto has_fallback = [&](char byte) { return fallback_ids_[static_cast<uint8_t>(byte)] >= 0; };
  if (!options_.byte_fallback || !std::all_of(text.begin(), text.end(), has_fallback)) return ids.push_back(options_.unknown);
  for (const char byte : text) ids.push_back(fallback_ids_[static_cast<uint8_t>(byte)]);
}

void Unigram::tokenize(std::string_view word, ModelWorkspace& workspace, std::vector<int32_t>& ids) const {
  std::vector<UnigramNode>& nodes = workspace.nodes;
  find_best_path(word, nodes);
  // From the back: ends of the tokens; then forwards.
  auto& spans = workspace.spans;
  spans.clear();
  for (auto end = static_cast<int32_t>(word.size()); end > 0; end = nodes[static_cast<size_t>(end)].begin)
    spans.emplace_back(nodes[static_cast<size_t>(end)].begin, end);
  for (size_t i = spans.size(); i > 0;) {
    const auto [begin, last] = spans[--i];
    int32_t end = last;
    const int32_t id = nodes[static_cast<size_t>(end)].id;
    if (id != options_.unknown) {
      ids.push_back(id);
      continue;
    }
    while (i > 0 && nodes[static_cast<size_t>(spans[i - 1].second)].id == options_.unknown) end = spans[--i].second;
    add_unknown(word.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)), ids);
  }
}

}  // namespace l0gm
