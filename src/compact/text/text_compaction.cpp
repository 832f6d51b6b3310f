#include "compact/text/text_compaction.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "base/log.h"
#include "base/text.h"
#include "compact/about.h"
#include "compact/text/text_card.h"
#include "data/table/source.h"
#include "l0gm/error.h"
#include "runtime/text/text_model.h"
#include "training/text/part_times.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

constexpr double most_test_work = 5e12;  // a few minutes on a processor

// Before a model is read, which may take minutes.
const fs::path& checked_run(const fs::path& run, const CompactOptions& options) {
  if (!options.lookup.empty()) {
    throw UserError(fmt::format("--nodes: {} is a run on texts, which have no nodes; leave it out", run.string()));
  }
  return run;
}

TextRun open_text_run(const fs::path& path, torch::Dtype dtype) {
  TextRun run(path, prepare_machine("cpu", 0, false));
  for (const GateSite* site : run.model->sites()) {
    if (!site->gate->has_instance_logits()) continue;
    throw UserError(fmt::format(
        "{} has gates that depend on the text (gate.logits = instance), so that no dimension can be left out for all: "
        "a text model like that cannot be compacted. Train it with gate.logits = global, or predict with the run's "
        "folder.",
        path.string()));
  }
  place(*run.model, torch::kCPU, dtype);
  auto& encoder = dynamic_cast<TextEncoder&>(run.model->encoder());
  encoder.compute_in(dtype);
  encoder.compute_closed_parts(true);  // parity is proven against the model that computes all
  return run;
}

// The resolved configuration's sections that the model was made from.
nlohmann::json options_of_texts(Config config) {
  nlohmann::json some;
  const nlohmann::json all = OptionList::of(config).json();
  for (const auto& [key, value] : all.items()) {
    const bool of_model = key.starts_with("model.") || key.starts_with("encoder.") || key.starts_with("gate.");
    if (of_model && key != "encoder.path") some[key] = value;
  }
  return some;
}

// What gates have left of the encoder's structure.
nlohmann::json structure_facts(const TextRun& run) {
  const std::optional<StructureReport> left = run.structure();
  if (!left) return nullptr;
  nlohmann::json facts = {{"layers", left->layers},   {"layers_dense", left->layers_dense},
                          {"heads", left->heads},     {"heads_dense", left->heads_dense},
                          {"neurons", left->neurons}, {"neurons_dense", left->neurons_dense},
                          {"speedup", left->speedup}, {"cost", name_of_enum(run.config.gate.cost)}};
  if (run.config.gate.target_speedup) facts["target_speedup"] = *run.config.gate.target_speedup;
  if (run.text.times) facts["timed_on"] = run.text.timed_on;
  return facts;
}

// How many times as fast as the dense encoder the narrowed one is on this processor, by a clock.
double timed_speedup(TextRun& run, const TransformerConfig& narrowed) {
  log_info("timing the dense encoder and the narrowed one on this processor");
  Config config = run.config;
  config.train.matmul = Matmul::float32;  // what a GPU was told to multiply in is not for a processor
  config.train.precision = Precision::float32;
  const std::vector<double> taken =
      TextClock(run.rows(Split::train), config, run.machine).microseconds({run.text.encoder, narrowed});
  return taken[0] / taken[1];
}

nlohmann::json encoder_facts(const TextRun& run, const TextNet& net) {
  nlohmann::json weights = nlohmann::json::array();
  for (const FileStamp& file : run.text.weights) {
    weights.push_back({{"name", file.path.filename().string()}, {"sha256", file.sha256}});
  }
  const TransformerConfig& config = net.encoder;
  return {{"model_type", config.model_type},
          {"layers", config.layers},
          {"width", config.hidden},
          {"heads", config.heads},
          {"intermediate", config.intermediate},
          {"vocabulary", config.vocabulary},
          {"parameters", config.parameters()},
          {"pooling", name_of_enum(net.pooling)},
          {"frozen", run.config.encoder.frozen},
          {"weights", weights}};
}

}  // namespace

TextCompaction::TextCompaction(const fs::path& run, const CompactOptions& options)
    : run_(open_text_run(checked_run(run, options), torch::kFloat32)), texts_(run_) {
  narrowed_ = open_text_run(run, torch::kFloat64).model;
  exact_ = ask(*narrowed_);  // before it is narrowed: two large models in memory, not three
  if (!narrow_text_model(*narrowed_, run_.gate_state)) throw std::logic_error("TextCompaction: gates depend on the text");
  if (run_.structure()) timed_speedup_ = timed_speedup(run_, dynamic_cast<TextEncoder&>(narrowed_->encoder()).config());
  checked_ = {texts_.size(), "texts", [this](int64_t row) { return texts_.where(row); },
              [this](int64_t row) { return fmt::format("'{}'", texts_.beginning(row)); }};
}

std::vector<double> TextCompaction::ask(Model& model) const {
  return predict_texts(model, run_.gate_state, texts_.rows(), run_.text.classes, torch::kCPU).probabilities;
}

std::vector<double> TextCompaction::trained(Precision precision) {
  return precision == Precision::float64 ? exact_ : ask(*run_.model);
}

std::vector<double> TextCompaction::folded() { return ask(*narrowed_); }

std::vector<double> TextCompaction::served(const fs::path& file) { return serve(file, texts_.rows()).probabilities; }

// As `predict` serves the file on this machine: by the runtime, or with LibTorch where that cannot.
Predictions TextCompaction::serve(const fs::path& path, const TextRows& texts) const {
  const Container file = Container::read(path);
  if (!text_obstacle(file).empty()) return predict_texts(*read_text_model(path).model, {}, texts, classes(), torch::kCPU);
  const TextModel model(file, {.threads = at::get_num_threads(), .calibrated = false});
  EncodedTexts tokens;
  tokens.offsets.push_back(0);
  Predictions result;
  result.classes = classes();
  for (const int64_t row : texts.rows) {
    const std::span<const int32_t> ids = texts.tokens->ids(row);
    tokens.ids.insert(tokens.ids.end(), ids.begin(), ids.end());
    tokens.offsets.push_back(static_cast<int64_t>(tokens.ids.size()));
    result.rows.push_back(row);
    result.labels.push_back(texts.labels.empty() ? -1 : texts.labels[static_cast<size_t>(row)]);
  }
  std::vector<float> probabilities(texts.rows.size() * classes().size());
  model.predict(tokens, probabilities.data());
  result.probabilities.assign(probabilities.begin(), probabilities.end());
  return result;
}

bool TextCompaction::predicts(Split split) {
  const TextDataset& dataset = run_.dataset();
  double tokens = 0;
  for (const int64_t row : dataset.data.rows(split)) tokens += static_cast<double>(dataset.tokens.length(row));
  return tokens > 0 && (split != Split::test || work_of_layers(run_.text.encoder, tokens) <= most_test_work);
}

Predictions TextCompaction::served(const fs::path& file, Split split) {
  Predictions none;
  none.classes = classes();
  if (!predicts(split)) return none;
  const std::string stored = Container::read(file).tensors_sha256();
  if (stored != found_in_) {
    found_.clear();
    found_in_ = stored;
  }
  if (const auto known = found_.find(split); known != found_.end()) return known->second;
  return found_[split] = serve(file, run_.rows(split));
}

nlohmann::json TextCompaction::about() {
  const TextRecord& text = run_.text;
  const TextNet net = text_net_of(*narrowed_, std::ssize(text.classes));
  const nlohmann::json summary = run_.folder.read_json(run_.folder.summary());
  nlohmann::json about = about_run(run_);
  about.update({{"texts", text.texts},
                {"training_rows", run_.dataset().data.rows(Split::train).size()},
                {"label", text.label_column},
                {"classes", text.classes},
                {"class_rows", text.class_rows},
                {"text_column", text.text_column},
                {"max_tokens", text.max_tokens},
                {"truncated_share", text.truncated_share},
                {"mean_tokens", text.mean_tokens},
                {"encoder", encoder_facts(run_, net)},
                {"dimensions", net.encoder.hidden},
                {"open_dimensions", net.head_width()},
                {"closed_columns", nlohmann::json::array()},
                {"encoder_narrowed", run_.structure().has_value()},
                {"parameters_dense", run_.model->parameter_count()},
                {"parameters_open", net.parameters()},
                {"projected_units", summary.value("projected_units", int64_t{0})},
                {"converged", summary.value("converged", true)},
                {"gate", about_gate(run_, nullptr)},
                {"options", options_of_texts(run_.config)}});
  if (const nlohmann::json structure = structure_facts(run_); !structure.is_null()) about["structure"] = structure;
  return about;
}

int64_t TextCompaction::write(const fs::path& file, WeightType weights, const Calibrator& calibrator,
                              const nlohmann::json& about) {
  const TextRecord& text = run_.text;
  const TextHeader header{text_net_of(*narrowed_, std::ssize(text.classes)),
                          text.tokenizer,
                          text.text_column,
                          delimiter_of(run_.config.data),
                          text.max_tokens,
                          text.classes,
                          calibrator,
                          about,
                          weights};
  return write_text_model(file, header, *narrowed_);
}

nlohmann::json TextCompaction::with_time(nlohmann::json facts) const {
  if (timed_speedup_) facts["structure"]["speedup_timed"] = *timed_speedup_;
  return facts;
}

std::string TextCompaction::card(const std::string& file, const nlohmann::json& about) const {
  return text_card(file, with_time(about));
}

nlohmann::json TextCompaction::result(const nlohmann::json& about) const {
  nlohmann::json result = {{"kind", "text"}};
  for (const char* key :
       {"dimensions", "open_dimensions", "encoder_narrowed", "max_tokens", "truncated_share", "projected_units", "converged"}) {
    result[key] = about[key];
  }
  if (about.contains("structure")) result["structure"] = about["structure"];
  return with_time(std::move(result));
}

std::string TextCompaction::describe(const nlohmann::json& result) const {
  std::string text =
      fmt::format("{}: {} bytes, {} of {} units open, reads the first {} tokens of a text\n", result["model"].get<std::string>(),
                  with_thousands(result["bytes"].get<int64_t>()), with_thousands(result["open_units"].get<int64_t>()),
                  with_thousands(result["units"].get<int64_t>()), result["max_tokens"].get<int64_t>());
  if (result.contains("structure")) text += "  " + structure_of_card(result["structure"]);
  if (result["open_dimensions"] != result["dimensions"]) {
    text += fmt::format(
        "  only the head is narrower ({} of {} dimensions): the interface follows a layer norm, which reads all of them, so that "
        "an "
        "interface gate saves next to nothing in a text encoder\n",
        result["open_dimensions"].get<int64_t>(), result["dimensions"].get<int64_t>());
  }
  return text;
}

}  // namespace l0gm
