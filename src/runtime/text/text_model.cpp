#include "runtime/text/text_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "base/text.h"
#include "runtime/finish_row.h"
#include "runtime/row_layout.h"

namespace l0gm {

namespace {

constexpr int64_t texts_at_once = 4096;  // whose tokens are kept: bounds the memory of a long call
// Tokens that a thread takes at a time. More share the reading of weights, fewer leave other threads something to do.
constexpr int64_t least_group = 128, most_group = 1024, groups_of_call = 16;

const Container& served(const Container& file, const TextHeader& header) {
  const std::string why = obstacle_of(header.net);
  if (why.empty()) return file;
  throw UserError(fmt::format("this runtime cannot serve it: {}. `l0gm predict` can, with LibTorch.", why));
}

// Texts in the order of the call, cut into groups of about equal length; a function of the texts alone.
std::vector<size_t> group_begins(const std::vector<int64_t>& offsets) {
  const int64_t wanted = std::clamp(offsets.back() / groups_of_call, least_group, most_group);
  std::vector<size_t> begins = {0};
  for (size_t text = 1; text + 1 < offsets.size(); ++text) {
    if (offsets[text + 1] - offsets[begins.back()] > wanted) begins.push_back(text);
  }
  begins.push_back(offsets.size() - 1);
  return begins;
}

}  // namespace

// A workspace for the time of its life: one that another call gave back, or a new one.
class TextModel::Lease {
 public:
  explicit Lease(const TextModel& model) : model_(model) {
    {
      const std::lock_guard lock(model.mutex_);
      if (!model.free_.empty()) {
        workspace_ = std::move(model.free_.back());
        model.free_.pop_back();
      }
    }
    if (workspace_ == nullptr) workspace_ = std::make_unique<TextWorkspace>();
  }
  ~Lease() {
    const std::lock_guard lock(model_.mutex_);
    model_.free_.push_back(std::move(workspace_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  TextWorkspace& workspace() { return *workspace_; }

 private:
  const TextModel& model_;
  std::unique_ptr<TextWorkspace> workspace_;
};

TextModel::TextModel(const Container& file, CompactModel::Options options)
    : manifest_(file.manifest_text()),
      header_(file.explain([&] { return read_text_header(file); })),
      program_(file.explain([&] { return TextProgram(header_.net, header_.weights, served(file, header_).tensors()); })),
      calibrated_(header_.calibrator.is_used(options.calibrated)),
      columns_({header_.column}) {
  const int threads = checked_threads(options.threads);
  if (threads > 1) threads_ = std::make_unique<ThreadPool>(threads - 1);
}

TextModel::~TextModel() = default;

void TextModel::predict(std::span<const std::string_view> texts, float* probabilities, int64_t* missing) const {
  if (missing != nullptr)
    *missing += std::count_if(texts.begin(), texts.end(), [](std::string_view text) { return trim(text).empty(); });
  for (size_t begin = 0; begin < texts.size(); begin += texts_at_once) {
    EncodedTexts tokens;
    tokens.offsets.push_back(0);
    for (const std::string_view text : texts.subspan(begin, std::min<size_t>(texts_at_once, texts.size() - begin))) {
      header_.tokenizer->encode(text, header_.max_tokens, tokens.ids);
      tokens.offsets.push_back(static_cast<int64_t>(tokens.ids.size()));
    }
    predict(tokens, probabilities + begin * header_.classes.size());
  }
}

void TextModel::predict(const EncodedTexts& tokens, float* probabilities) const {
  if (tokens.offsets.size() < 2) return;
  const std::vector<size_t> begins = group_begins(tokens.offsets);
  if (begins.size() == 2) return predict_together(tokens, probabilities);
  std::atomic<size_t> next{0};
  const auto share = [&] {
    Lease lease(*this);
    for (size_t group = next++; group + 1 < begins.size(); group = next++) {
      const size_t begin = begins[group], texts = begins[group + 1] - begin;
      TextPass pass(program_, {tokens.ids, std::span(tokens.offsets).subspan(begin, texts + 1)}, lease.workspace(), false);
      pass.run(lease.workspace());
      finish(pass, texts, probabilities + begin * header_.classes.size());
    }
  };
  // While another call uses the workers, the caller's thread does it all.
  if (threads_ == nullptr || !threads_->try_run(share)) share();
}

// Few tokens: all threads work on the same group.
void TextModel::predict_together(const EncodedTexts& tokens, float* probabilities) const {
  Lease lease(*this);
  TextPass pass(program_, {tokens.ids, tokens.offsets}, lease.workspace(), true);
  const std::thread::id caller = std::this_thread::get_id();
  const auto share = [&] {
    if (std::this_thread::get_id() == caller) return pass.run(lease.workspace());
    Lease own(*this);
    pass.run(own.workspace());
  };
  if (threads_ == nullptr || !threads_->try_run(share)) share();
  finish(pass, tokens.offsets.size() - 1, probabilities);
}

void TextModel::finish(TextPass& pass, size_t texts, float* probabilities) const {
  const int64_t members = header_.net.members, outputs = header_.net.outputs();
  const size_t logits_of_text = static_cast<size_t>(members * outputs), classes = header_.classes.size();
  std::vector<float> logits(texts * logits_of_text);
  pass.logits(logits.data());
  std::vector<double> row(classes);
  for (size_t text = 0; text < texts; ++text) {
    finish_row(logits.data() + text * logits_of_text, members, outputs, calibrated_ ? &header_.calibrator : nullptr, row,
               probabilities + text * classes);
  }
}

}  // namespace l0gm
