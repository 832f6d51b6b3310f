#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "encode/text/word_model.h"
#include "encode/text/workspace.h"

// Where the words of a text go: ids are appended until more than `most` are there, so that the caller knows that some are left
// out.
namespace l0gm {

class IdSink {
 public:
  IdSink(const WordModel& model, Workspace& workspace, std::vector<int32_t>& ids, size_t most)
      : model_(model), workspace_(workspace), ids_(ids), most_(most) {}

  // Both return false when nothing more is wanted.
  bool id(int32_t id) {
    ids_.push_back(id);
    return ids_.size() <= most_;
  }
  bool word(std::string_view word) {
    const uint64_t hash = hash_bytes(word);
    if (const WordCache::Slot* slot = workspace_.cache.find(word, hash)) {
      if (slot->count == 1) {
        ids_.push_back(slot->ids[0]);
      } else {
        ids_.insert(ids_.end(), slot->ids, slot->ids + slot->count);
      }
    } else {
      new_word(word, hash);
    }
    return ids_.size() <= most_;
  }

 private:
  void new_word(std::string_view word, uint64_t hash) {
    const size_t before = ids_.size();
    model_.tokenize(word, workspace_.model, ids_);
    workspace_.cache.keep(word, hash, {ids_.data() + before, ids_.size() - before});
  }

  const WordModel& model_;
  Workspace& workspace_;
  std::vector<int32_t>& ids_;
  size_t most_;
};

}  // namespace l0gm
