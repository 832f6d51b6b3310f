#include "encode/text/byte_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "encode/text/tokenizer_json.h"
#include "encode/text/utf8.h"
#include "encode/text/workspace.h"

namespace l0gm {
namespace {

uint64_t pair_of(int32_t left, int32_t right) {
  return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
}
size_t pair_hash(uint64_t pair) { return static_cast<size_t>((pair * 0x9E3779B97F4A7C15u) >> 24); }

// The bytes that a token of a byte-level vocabulary stands for; false: it has a character that stands for none.
bool token_bytes(const std::string& token, const std::unordered_map<char32_t, char>& bytes_of, std::string& bytes) {
  bytes.clear();
  for (size_t i = 0; i < token.size();) {
    const auto [code, size] = decode_code(token.data() + i);
    const auto found = bytes_of.find(code);
    if (found == bytes_of.end()) return false;
    bytes += found->second;
    i += size;
  }
  return true;
}

struct LaterMerge {
  bool operator()(const BytePairMerge& a, const BytePairMerge& b) const {
    return std::pair(a.rank, a.place) > std::pair(b.rank, b.place);
  }
};

}  // namespace

std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    characters[byte] = printable ? byte : next++;
  }
  return characters;
}

BytePairs::BytePairs(const std::vector<std::pair<std::string, int32_t>>& vocabulary,
                     const std::vector<std::pair<std::string, std::string>>& merges, Options options, const std::string& where)
    : options_(std::move(options)) {
  if (options_.byte_level && !(options_.continuing_prefix.empty() && options_.end_suffix.empty()))
    tokenizer_json::refuse_kind(where, "a byte-level BPE model with prefix or suffix",
                                options_.continuing_prefix + options_.end_suffix, "none");
  std::vector<std::pair<std::string_view, int32_t>> words;
  for (const auto& [token, id] : vocabulary) {
    if (!token.empty()) words.emplace_back(token, id);
  }
  const ByteTrie written(words);
  read_merges(merges, written, where);
  fallback_ids_.fill(-1);
  byte_ids_.fill(-1);
  if (options_.byte_fallback) {
    for (int byte = 0; byte < 256; ++byte)
      fallback_ids_[static_cast<size_t>(byte)] = written.find(fmt::format("<0x{:02X}>", byte));
  }
  if (!options_.byte_level) {
    tokens_ = written;
    return;
  }
  const std::array<char32_t, 256> characters = byte_characters();
  std::unordered_map<char32_t, char> bytes_of;
  for (size_t byte = 0; byte < 256; ++byte) bytes_of.emplace(characters[byte], static_cast<char>(byte));
  std::vector<std::pair<std::string, int32_t>> raw;
  std::string bytes;
  for (const auto& [token, id] : vocabulary) {
    if (token.empty() || !token_bytes(token, bytes_of, bytes)) continue;
    if (bytes.size() == 1) byte_ids_[static_cast<uint8_t>(bytes[0])] = id;
    raw.emplace_back(bytes, id);
  }
  tokens_ = ByteTrie(std::vector<std::pair<std::string_view, int32_t>>(raw.begin(), raw.end()));
}

void BytePairs::read_merges(const std::vector<std::pair<std::string, std::string>>& merges, const ByteTrie& tokens,
                            const std::string& where) {
  merges_.resize(std::bit_ceil(merges.size() * 2 + 2));
  const auto id_of = [&](const std::string& token) {
    const int32_t id = tokens.find(token);
    if (id < 0)
      tokenizer_json::refuse(where, fmt::format("a merge needs the token '{}', which the vocabulary does not have", token));
    return id;
  };
  const std::string& prefix = options_.continuing_prefix;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto& [left, right] = merges[rank];
    if (right.size() < prefix.size())
      tokenizer_json::refuse(where, fmt::format("the merge of '{}' lacks the prefix of its tokens", right));
    const int32_t left_id = id_of(left), right_id = id_of(right);
    const uint64_t pair = pair_of(left_id, right_id);
    size_t place = pair_hash(pair) & (merges_.size() - 1);
    while (merges_[place].pair != no_pair && merges_[place].pair != pair) place = (place + 1) & (merges_.size() - 1);
    merges_[place] = {pair, static_cast<uint32_t>(rank), id_of(left + right.substr(prefix.size()))};
  }
}

const BytePairs::Merge* BytePairs::find_merge(int32_t left, int32_t right) const {
  const uint64_t pair = pair_of(left, right);
  for (size_t place = pair_hash(pair) & (merges_.size() - 1);; place = (place + 1) & (merges_.size() - 1)) {
    if (merges_[place].pair == pair) return &merges_[place];
    if (merges_[place].pair == no_pair) return nullptr;
  }
}

void BytePairs::tokenize(std::string_view word, ModelWorkspace& workspace, std::vector<int32_t>& ids) const {
  constexpr size_t short_word = 32;
  if (options_.ignore_merges) {
    if (const int32_t id = tokens_.find(word); id >= 0) return ids.push_back(id);
  }
  const size_t begin = ids.size();
  if (options_.byte_level) {
    add_bytes(word, ids);
  } else {
    add_characters(word, ids);
  }
  if (ids.size() - begin <= short_word) {
    merge_short(ids, begin);
  } else {
    merge_long(ids, begin, workspace);
  }
}

void BytePairs::add_bytes(std::string_view word, std::vector<int32_t>& ids) const {
  bool after_unknown = false;
  for (const char byte : word) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(byte)];
    if (id >= 0) {
      ids.push_back(id);
    } else if (options_.unknown >= 0 && !(after_unknown && options_.fuse_unknown)) {
      ids.push_back(options_.unknown);
    }
    after_unknown = id < 0;
  }
}

void BytePairs::add_characters(std::string_view word, std::vector<int32_t>& ids) const {
  bool unknown_waits = false;  // it comes before the next known character, behind bytes that fell back: the reference's order
  std::string text;
  for (size_t i = 0; i < word.size();) {
    const size_t size = code_size(word[i]);
    text.assign(i == 0 ? "" : options_.continuing_prefix).append(word.substr(i, size));
    if (i + size == word.size()) text += options_.end_suffix;
    i += size;
    if (const int32_t id = tokens_.find(text); id >= 0) {
      if (unknown_waits) ids.push_back(options_.unknown);
      unknown_waits = false;
      ids.push_back(id);
      continue;
    }
    const auto has_fallback = [&](char byte) { return fallback_ids_[static_cast<uint8_t>(byte)] >= 0; };
    if (options_.byte_fallback && std::all_of(text.begin(), text.end(), has_fallback)) {
      for (const char byte : text) ids.push_back(fallback_ids_[static_cast<uint8_t>(byte)]);
      continue;
    }
    if (options_.unknown < 0) continue;
    if (unknown_waits && !options_.fuse_unknown) ids.push_back(options_.unknown);
    unknown_waits = true;
  }
  if (unknown_waits) ids.push_back(options_.unknown);
}

void BytePairs::merge_short(std::vector<int32_t>& ids, size_t begin) const {
  std::array<const Merge*, 32> found{};
  size_t count = ids.size() - begin;
  int32_t* const symbols = ids.data() + begin;
  for (size_t i = 0; i + 1 < count; ++i) found[i] = find_merge(symbols[i], symbols[i + 1]);
  while (count > 1) {
    size_t best = count;
    uint32_t best_rank = no_rank;
    for (size_t i = 0; i + 1 < count; ++i) {
      if (found[i] != nullptr && found[i]->rank < best_rank) {
        best = i;
        best_rank = found[i]->rank;
      }
    }
    if (best == count) break;
    symbols[best] = found[best]->merged;
    std::copy(symbols + best + 2, symbols + count, symbols + best + 1);
    std::copy(found.begin() + static_cast<ptrdiff_t>(best) + 1, found.begin() + static_cast<ptrdiff_t>(count) - 1,
              found.begin() + static_cast<ptrdiff_t>(best));
    --count;
    if (best > 0) found[best - 1] = find_merge(symbols[best - 1], symbols[best]);
    if (best + 1 < count) found[best] = find_merge(symbols[best], symbols[best + 1]);
  }
  ids.resize(begin + count);
}

void BytePairs::merge_long(std::vector<int32_t>& ids, size_t begin, ModelWorkspace& workspace) const {
  std::vector<BytePairSymbol>& symbols = workspace.symbols;
  std::vector<BytePairMerge>& queue = workspace.merges;
  const auto count = static_cast<int32_t>(ids.size() - begin);
  symbols.clear();
  queue.clear();
  for (int32_t i = 0; i < count; ++i) symbols.push_back({ids[begin + static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : -1});
  const auto at = [&](int32_t place) -> BytePairSymbol& { return symbols[static_cast<size_t>(place)]; };
  const auto offer = [&](int32_t place) {
    if (place < 0 || at(place).next < 0) return false;
    const Merge* merge = find_merge(at(place).id, at(at(place).next).id);
    if (merge != nullptr) queue.push_back({merge->rank, place, merge->merged});
    return merge != nullptr;
  };
  for (int32_t i = 0; i < count; ++i) offer(i);
  std::make_heap(queue.begin(), queue.end(), LaterMerge());
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), LaterMerge());
    const BytePairMerge merge = queue.back();
    queue.pop_back();
    BytePairSymbol& left = at(merge.place);
    if (left.id < 0 || left.next < 0) continue;
    const Merge* current = find_merge(left.id, at(left.next).id);
    if (current == nullptr || current->merged != merge.merged) continue;  // one of the two was merged otherwise
    BytePairSymbol& right = at(left.next);
    left.id = merge.merged;
    left.next = right.next;
    right.id = -1;
    if (left.next >= 0) at(left.next).previous = merge.place;
    if (offer(left.previous)) std::push_heap(queue.begin(), queue.end(), LaterMerge());
    if (offer(merge.place)) std::push_heap(queue.begin(), queue.end(), LaterMerge());
  }
  ids.resize(begin);
  for (int32_t place = 0; place >= 0; place = at(place).next) ids.push_back(at(place).id);
}

}  // namespace l0gm
