#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "encode/text/encode_texts.h"
#include "l0gm/runtime.h"
#include "runtime/text/text_pass.h"
#include "runtime/thread_pool.h"

namespace l0gm {

// A compact text file ready to serve, without LibTorch: what a table's ModelState is.
//   const TextModel model(Container::read("reviews.l0gm"), {.threads = 2});
//   model.predict(texts, probabilities, nullptr);
// Immutable apart from working memory, which is leased to one call at a time; any number of threads may predict. What a text is
// told does not depend on the number of threads.
class TextModel {
 public:
  // UserError naming the file: damaged, or not to be computed here (obstacle_of).
  TextModel(const Container& file, CompactModel::Options options);
  ~TextModel();

  const std::string& manifest() const { return manifest_; }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<std::string>& classes() const { return header_.classes; }
  const TextHeader& header() const { return header_; }
  const TextProgram& program() const { return program_; }
  bool is_calibrated() const { return calibrated_; }
  size_t memory_bytes() const { return program_.memory_bytes(); }
  // probabilities: texts x classes. missing: texts without anything but blanks are added to it; may be nullptr.
  void predict(std::span<const std::string_view> texts, float* probabilities, int64_t* missing) const;
  // Of token ids: below the encoder's vocabulary, at least one and at most header().max_tokens for each text.
  void predict(const EncodedTexts& tokens, float* probabilities) const;

 private:
  class Lease;
  void predict_together(const EncodedTexts& tokens, float* probabilities) const;
  void finish(TextPass& pass, size_t texts, float* probabilities) const;

  std::string manifest_;
  TextHeader header_;
  TextProgram program_;
  bool calibrated_;
  std::vector<std::string> columns_;
  std::unique_ptr<ThreadPool> threads_;  // null: every call uses its own thread only
  mutable std::mutex mutex_;             // guards free_
  mutable std::vector<std::unique_ptr<TextWorkspace>> free_;
};

}  // namespace l0gm
