#include "encode/text/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/hash.h"
#include "encode/text/utf8.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

// Places in a text are 32-bit numbers.
void check_size(size_t bytes) {
  constexpr size_t most_text = size_t{1} << 29;
  if (bytes > most_text) throw UserError(fmt::format("a text has {} bytes; at most {} are read: split it", bytes, most_text));
}

// A text that cannot be encoded leaves nothing behind.
template <class Work>
void ids_stay_whole(std::vector<int32_t>& ids, size_t begin, Work work) {
  try {
    work();
  } catch (...) {
    ids.resize(begin);
    throw;
  }
}

}  // namespace

Pipeline::Borrowed::Borrowed(const Pipeline& owner) : owner_(owner) {
  {
    const std::lock_guard hold(owner.lock_);
    if (!owner.workspaces_.empty()) {
      workspace_ = std::move(owner.workspaces_.back());
      owner.workspaces_.pop_back();
    }
  }
  if (workspace_ == nullptr) workspace_ = std::make_unique<Workspace>();
}

Pipeline::Borrowed::~Borrowed() {
  workspace_->shrink();
  const std::lock_guard hold(owner_.lock_);
  owner_.workspaces_.push_back(std::move(workspace_));
}

Pipeline::Pipeline(TokenizerParts parts) : parts_(std::move(parts)), sha256_(l0gm::sha256(parts_.json)) {
  std::vector<AddedToken> plain, normalized;
  for (const AddedToken& token : parts_.added) {
    if (!token.normalized) {
      plain.push_back(token);
      continue;
    }
    AddedToken looked_for = token;
    std::string scratch;
    NormalText normal{looked_for.content, scratch};
    if (parts_.normalizer) parts_.normalizer->apply(normal);
    if (!looked_for.content.empty()) normalized.push_back(std::move(looked_for));
  }
  // Where two look alike once they are normalised, a special one counts.
  std::stable_partition(normalized.begin(), normalized.end(), [](const AddedToken& token) { return token.special; });
  plain_added_ = AddedTokens(std::move(plain));
  normalized_added_ = AddedTokens(std::move(normalized));
  if (parts_.bert && normalized_added_.empty()) scanner_.emplace(*parts_.bert, parts_.longest_word);
}

EncodedText Pipeline::encode(std::string_view utf8, int64_t max_tokens, std::vector<int32_t>& ids) const {
  check_size(utf8.size());
  const size_t begin = ids.size(), around = parts_.before.size() + parts_.after.size();
  size_t most = std::numeric_limits<size_t>::max();
  if (max_tokens != 0) {
    if (max_tokens < static_cast<int64_t>(around)) {
      throw UserError(fmt::format("at most {} tokens are wanted, but the special tokens around a text are {} already; allow more",
                                  max_tokens, around));
    }
    most = begin + static_cast<size_t>(max_tokens) - parts_.after.size();
  }
  const Borrowed workspace(*this);
  EncodedText result;
  const std::string_view text = repair_utf8(utf8, (*workspace).repaired, result.invalid_bytes);
  ids.insert(ids.end(), parts_.before.begin(), parts_.before.end());
  IdSink sink(*parts_.model, *workspace, ids, most);
  ids_stay_whole(ids, begin, [&] {
    plain_added_.split(
        text, [&](std::string_view part) { return encode_part({part, part.data() == text.data()}, *workspace, sink); },
        [&](int32_t id) { return sink.id(id); });
  });
  if (ids.size() > most) {
    result.truncated = true;
    ids.resize(most);
  }
  ids.insert(ids.end(), parts_.after.begin(), parts_.after.end());
  result.tokens = static_cast<int64_t>(ids.size() - begin);
  return result;
}

bool Pipeline::encode_part(TextPiece part, Workspace& workspace, IdSink& sink) const {
  if (!scanner_) return encode_by_steps(part, workspace, sink);
  const BertScanner::Result result = scanner_->scan(part.text, sink, workspace.word);
  if (result.rest == std::string_view::npos) return result.wants_more;
  return encode_by_steps({part.text.substr(result.rest), false}, workspace, sink);
}

bool Pipeline::encode_by_steps(TextPiece part, Workspace& workspace, IdSink& sink) const {
  if (parts_.normalizer) {
    workspace.normal.assign(part.text);
    NormalText normal{workspace.normal, workspace.scratch};
    parts_.normalizer->apply(normal);
    check_size(workspace.normal.size());
    part = {workspace.normal, part.starts_text && normal.starts_text};
  }
  const auto take_word = [&](TextPiece word) { return sink.word(word.text); };
  const auto take_part = [&](std::string_view piece) {
    return split_all(parts_.splits, {piece, part.starts_text && piece.data() == part.text.data()}, workspace.pieces, take_word);
  };
  return normalized_added_.split(part.text, take_part, [&](int32_t id) { return sink.id(id); });
}

std::string Pipeline::token(int32_t id) const {
  if (id < 0 || static_cast<size_t>(id) >= parts_.tokens.size())
    throw UserError(fmt::format("token {} is asked for, but the vocabulary has 0 to {}", id, parts_.tokens.size() - 1));
  return parts_.tokens[static_cast<size_t>(id)];
}

}  // namespace l0gm
