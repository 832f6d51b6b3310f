#include "training/text/text_modality.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "data/made/planted_text.h"
#include "data/text/export.h"
#include "data/text/source.h"
#include "encoders/text/encoder_shape.h"
#include "l0gm/error.h"
#include "l0gm/gate_control.h"
#include "model/text_model.h"
#include "run/run_folder.h"
#include "training/text/frozen_features.h"
#include "training/text/part_times.h"
#include "training/text/text_run.h"

namespace l0gm {

namespace fs = std::filesystem;

namespace {

// Settings that depend on how much of the model is trained: everything from scratch, all of a pretrained encoder, gate and head
// only.
struct Setting {
  std::string_view key, scratch, tuned, frozen;
};
constexpr std::array<Setting, 10> settings = {{{"train.epochs", "8", "2", "40"},
                                               {"train.batch", "64", "32", "256"},
                                               {"train.lr", "0.001", "0.00005", "0.002"},
                                               {"train.head_lr", "0.001", "0.001", "0.002"},
                                               {"train.ema", "0.99", "0.998", "0.995"},
                                               {"train.weight_decay", "0.05", "0.01", "0.05"},
                                               {"model.interface_dropout", "0.2", "0.1", "0"},
                                               {"train.label_smoothing", "0.02", "0.02", "0"},
                                               {"train.evaluate_every", "1", "0.25", "1"},
                                               {"train.checkpoint_every", "1", "0.5", "10"}}};

std::string_view value_for(const Setting& setting, const EncoderOptions& encoder) {
  if (encoder.path.empty()) return setting.scratch;
  return encoder.frozen ? setting.frozen : setting.tuned;
}

const TextRecord& text_record(const Record& record) { return dynamic_cast<const TextRecord&>(record); }

std::vector<std::string_view> training_texts(const TextData& data) {
  std::vector<std::string_view> texts;
  for (const int64_t row : data.rows(Split::train)) texts.push_back(data.texts.view(row));
  return texts;
}

std::vector<FileStamp> stamps_of_weights(const fs::path& folder) {
  std::vector<FileStamp> stamps;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") {
      stamps.push_back({fs::absolute(entry.path()), sha256_file(entry.path())});
    }
  }
  std::sort(stamps.begin(), stamps.end(), [](const FileStamp& a, const FileStamp& b) { return a.path < b.path; });
  return stamps;
}

bool has_structure(const Config& config) { return config.gate.unit != UnitKind::none && config.gate.on_structure(); }

// What is counted of the tokens; a text is never cut silently.
void describe_tokens(const TextDataset& dataset, TextRecord& record, bool structured) {
  const Tokens& tokens = dataset.tokens;
  std::vector<int64_t> all(static_cast<size_t>(tokens.texts()));
  std::iota(all.begin(), all.end(), int64_t{0});
  record.texts = tokens.texts();
  record.truncated_share = tokens.truncated_share(all);
  const std::vector<int64_t>& train = dataset.data.rows(Split::train);
  const double total = std::accumulate(train.begin(), train.end(), 0.0,
                                       [&](double sum, int64_t row) { return sum + static_cast<double>(tokens.length(row)); });
  record.mean_tokens = total / static_cast<double>(train.size());
  if (structured) {
    double squares = 0;
    for (const int64_t row : train) squares += std::pow(static_cast<double>(tokens.length(row)), 2);
    record.mean_square_tokens = squares / static_cast<double>(train.size());
  }
  if (record.truncated_share > 0) {
    log_info(fmt::format("{:.1f} % of the texts are longer than encoder.max_tokens = {} and are cut",
                         100 * record.truncated_share, record.max_tokens));
  }
  if (tokens.invalid_bytes() > 0) {
    log_warning(fmt::format("{} bytes of {} texts are not UTF-8 and are read as U+FFFD", with_thousands(tokens.invalid_bytes()),
                            with_thousands(dataset.data.invalid_texts)));
  }
  if (dataset.data.empty_texts > 0) log_warning(fmt::format("{} texts are empty", with_thousands(dataset.data.empty_texts)));
}

const char* kind_of(const Machine& machine) { return machine.device.is_cpu() ? "cpu" : "gpu"; }

// As another run measured them.
void take_times(TextRecord& record, const std::string& run, const Machine& machine) {
  const auto refuse = [&](const std::string& why) { throw UserError(fmt::format("encoder.times_from = {}: {}", run, why)); };
  const RunFolder folder = RunFolder::open(run);
  if (folder.modality() != "text") refuse("not a run on texts");
  const TextRecord other = TextRecord::from_json(folder.read_json(folder.schema()));
  if (!other.times) refuse("it measured no times: its gate.cost is not latency, or its gates are not on the encoder's structure");
  TransformerConfig as_deep = other.encoder;  // times are of a layer: a deeper or flatter encoder has the same
  as_deep.layers = record.encoder.layers;
  if (!(as_deep == record.encoder)) refuse("its encoder has another shape");
  if (other.timed_on != kind_of(machine))
    refuse(fmt::format("it was timed on a {}, this run is on a {}", other.timed_on, kind_of(machine)));
  record.times = other.times;
  record.timed_on = other.timed_on;
}

}  // namespace

bool TextModality::reads(const DataOptions& data) const { return names_texts(data); }

std::vector<std::string> TextModality::models() const { return text_model_names(); }

std::vector<Default> TextModality::defaults() const {
  return {{"train.lr_warmup", "0.06"},    {"train.lr_decay", "linear"},       {"train.lr_end", "0"},
          {"train.calibrator", "power"},  {"train.select", "calibrated"},     {"schedule.warmup", "0.05"},
          {"schedule.anneal_until", "0.7"}, {"schedule.ramp_until", "0.6"}};
}

void TextModality::resolve(OptionList& options, const Config& config) const {
  if (!options.named("model.name")) options.set(config.encoder.path.empty() ? "model.name=transformer" : "model.name=pretrained");
  for (const Setting& setting : settings) {
    if (options.named(std::string(setting.key))) continue;
    options.set(fmt::format("{}={}", setting.key, value_for(setting, config.encoder)));
  }
  const bool by_speed = config.gate.target_speedup.has_value();
  if (by_speed && !options.named("gate.attach")) options.set("gate.attach=heads+ffn+layers");
  if (has_structure(config) && !options.named("gate.cost")) options.set(by_speed ? "gate.cost=latency" : "gate.cost=flops");
}

std::vector<std::string> TextModality::resolved_defaults() const {
  std::vector<std::string> rows = {"| `model.name` | `transformer`; `pretrained` where `encoder.path` is set |"};
  for (const auto& [key, scratch, tuned, frozen] : settings) {
    rows.push_back(fmt::format("| `{}` | `{}` from scratch, `{}` for a pretrained encoder, `{}` for a frozen one |", key, scratch,
                               tuned, frozen));
  }
  rows.emplace_back("| `gate.attach` | `heads+ffn+layers` where `gate.target_speedup` is set |");
  rows.emplace_back(
      "| `gate.cost` | where gates are on heads, neurons or layers `flops`; `latency` where `gate.target_speedup` is set |");
  return rows;
}

void TextModality::check(const Config& config, const Machine&) const {
  const bool pretrained = config.model.name == "pretrained";
  if (pretrained && config.encoder.path.empty()) {
    throw UserError("model.name = pretrained needs encoder.path: a folder with config.json, *.safetensors and a tokenizer");
  }
  if (!pretrained && !config.encoder.path.empty()) {
    throw UserError(
        fmt::format("encoder.path = {} is read by model.name = pretrained; found {}", config.encoder.path, config.model.name));
  }
  if (config.encoder.frozen && !pretrained)
    throw UserError("encoder.frozen = true needs encoder.path: there is nothing to freeze");
  if (config.encoder.frozen && config.gate.unit == UnitKind::fine) {
    throw UserError(
        "gate.unit = fine has gates inside the encoder; with encoder.frozen = true nothing is trained there: use dimension or "
        "group");
  }
  if (config.encoder.frozen && has_structure(config)) {
    throw UserError(fmt::format(
        "gate.attach = {} closes parts of the encoder; with encoder.frozen = true it stays as it is: set one of them otherwise",
        config.gate.attach.names()));
  }
  if (config.encoder.frozen && config.distill.hidden_weight > 0) {
    throw UserError(
        "distill.hidden_weight moves the encoder's states; with encoder.frozen = true they stay as they are: remove it");
  }
  const bool timed = config.gate.cost == UnitCost::latency || config.gate.cost == UnitCost::flops;
  if (config.gate.unit != UnitKind::none && config.gate.target_speedup && !timed) {
    throw UserError(
        fmt::format("gate.target_speedup is by gate.cost = latency or flops; found {}", name_of_enum(config.gate.cost)));
  }
  if (config.train.matmul == Matmul::tf32) {
    throw UserError("train.matmul = tf32 is for graphs so far: an encoder of texts multiplies in bfloat16 or float32");
  }
  if (config.train.matmul == Matmul::bfloat16 && config.train.precision == Precision::float64) {
    throw UserError("train.matmul = bfloat16 does not go with train.precision = float64");
  }
}

std::shared_ptr<Dataset> TextModality::load(const Config& config) const {
  return std::make_shared<TextDataset>(load_texts(config.data));
}

std::unique_ptr<Record> TextModality::fit(Dataset& dataset, const Config& config) const {
  auto& texts = dynamic_cast<TextDataset&>(dataset);
  const TextData& data = texts.data;
  auto record = std::make_unique<TextRecord>();
  record->dataset = data.name;
  record->files = data.files;
  record->planted = data.planted;
  record->bayes_auc = data.bayes_auc;
  record->training_rows = data.training_rows;
  record->text_column = config.data.text.empty() ? "text" : config.data.text;
  record->label_column = data.label;
  record->classes = data.class_names;
  record->class_rows.assign(data.class_names.size(), 0);
  for (const int64_t row : data.rows(Split::train)) {
    ++record->class_rows[static_cast<size_t>(data.labels[static_cast<size_t>(row)])];
  }
  if (config.encoder.path.empty()) {
    record->tokenizer = train_tokenizer(training_texts(data), config.encoder.vocabulary);
    record->encoder = transformer_from_scratch(config.encoder, record->tokenizer->vocabulary_size());
  } else {
    record->tokenizer = read_tokenizer(config.encoder.path);
    record->encoder = with_options(read_transformer_config(config.encoder.path), config.encoder);
    record->weights = stamps_of_weights(config.encoder.path);
  }
  record->max_tokens = longest_input(record->encoder, config.encoder);
  if (record->tokenizer->vocabulary_size() > record->encoder.vocabulary) {
    throw UserError(fmt::format("{}: the tokenizer has {} tokens and the encoder vectors for {}: they do not belong together",
                                config.encoder.path, record->tokenizer->vocabulary_size(), record->encoder.vocabulary));
  }
  texts.tokens = cached_tokens(token_cache_folder(), data.texts, *record->tokenizer, record->max_tokens);
  describe_tokens(texts, *record, has_structure(config));
  return record;
}

std::unique_ptr<Record> TextModality::read_record(const nlohmann::json& json) const {
  return std::make_unique<TextRecord>(TextRecord::from_json(json));
}

void TextModality::measure(Record& record, const Dataset& dataset, const Config& config, const Machine& machine,
                           const Record* stored) const {
  if (!has_structure(config) || config.gate.cost != UnitCost::latency) return;
  auto& text = dynamic_cast<TextRecord&>(record);
  if (stored != nullptr) {
    text.times = text_record(*stored).times;
    text.timed_on = text_record(*stored).timed_on;
    return;
  }
  if (!config.encoder.times_from.empty()) {
    take_times(text, config.encoder.times_from, machine);
    return;
  }
  const auto& texts = dynamic_cast<const TextDataset&>(dataset);
  const TextRows rows{&texts.tokens, texts.data.rows(Split::train), texts.data.labels, {}, {}, {}};
  text.times = measure_parts(TextClock(rows, config, machine), text.encoder);
  text.timed_on = kind_of(machine);
}

std::shared_ptr<Model> TextModality::make_model(const Record& record, const Config& config, uint64_t seed) const {
  const TextRecord& text = text_record(record);
  EncoderOptions encoder = config.encoder;
  encoder.max_tokens = text.max_tokens;
  const TextFacts facts{text.class_rows,
                        config.train.class_weights == ClassWeights::balanced,
                        {text.mean_tokens, text.mean_square_tokens},
                        text.times};
  return make_text_model(text.encoder, facts, config.model, encoder, config.gate, seed);
}

void TextModality::start(Model& model, const Config& config) const {
  if (config.encoder.path.empty()) return;
  const std::vector<std::string> unread = load_pretrained(model, config.encoder.path);
  if (!unread.empty())
    log_info(fmt::format("{}: {} tensors are not part of the encoder and are left out", config.encoder.path, unread.size()));
  if (!config.encoder.frozen) return;
  for (torch::Tensor parameter : model.encoder().parameters()) parameter.requires_grad_(false);
}

// Fewer layers than the run has, with encoder.layers: those beyond.
void TextModality::leave_out(TensorMap& weights, const Model& model) const {
  const auto& encoder = dynamic_cast<const TextEncoder&>(model.encoder());
  for (int64_t layer = encoder.config().layers;; ++layer) {
    const std::string prefix = fmt::format("encoder.transformer.layer{}.", layer);
    if (std::erase_if(weights, [&](const auto& item) { return item.first.starts_with(prefix); }) == 0) return;
  }
}

std::unique_ptr<Task> TextModality::make_task(const std::shared_ptr<Dataset>& dataset, const Record& record,
                                              std::shared_ptr<Model> model, const Config& config, const Machine& machine) const {
  const auto texts = std::dynamic_pointer_cast<TextDataset>(dataset);
  const TextRecord& text = text_record(record);
  choose_matmul(*model, config, machine);
  if (has_structure(config)) GateControl(config.gate, model->sites());  // refuses a target that cannot be met
  auto task = std::make_unique<TextTask>(texts, text.classes, config.train.batch, static_cast<uint64_t>(config.train.seed),
                                         machine.device, config.encoder.drop_tokens);
  if (config.encoder.frozen) {
    auto& encoder = dynamic_cast<TextEncoder&>(model->encoder());
    const std::string digest = texts->data.texts.sha256();
    const auto features = [&](Split split) {
      const TextRows rows{&texts->tokens, texts->data.rows(split), texts->data.labels, {}, {}};
      return frozen_features(*model, rows, text, digest, config, machine.device);
    };
    const torch::Tensor train = features(Split::train);
    fit_scaling(encoder, train);
    task->set_features(encoder.scaled(train), encoder.scaled(features(Split::valid)));
  }
  return task;
}

std::string TextModality::describe(const Dataset& dataset, const Record& record, const Model& model) const {
  const TextRecord& text = text_record(record);
  const auto& texts = dynamic_cast<const TextDataset&>(dataset);
  return fmt::format(
      "{}: {} training texts of {:.0f} tokens on average, {} classes, {} layers, interface of {} dimensions, {} parameters",
      dataset.name(), with_thousands(std::ssize(texts.data.rows(Split::train))), text.mean_tokens, text.classes.size(),
      text.encoder.layers, model.encoder().width(), with_thousands(model.parameter_count()));
}

DataReport TextModality::export_data(const Config& config, const fs::path& folder, bool perturb) const {
  const TextData data = load_texts(config.data);
  export_texts(data, folder);
  DataReport report{{{"dataset", data.name},
                     {"output", folder.string()},
                     {"train", data.rows(Split::train).size()},
                     {"valid", data.rows(Split::valid).size()},
                     {"test", data.rows(Split::test).size()}},
                    fmt::format("{}: train.jsonl {}, valid.jsonl {}, test.jsonl {} texts of {}\n", folder.string(),
                                data.rows(Split::train).size(), data.rows(Split::valid).size(), data.rows(Split::test).size(),
                                data.name)};
  if (!perturb) return report;
  TextDataset texts(data);
  const std::unique_ptr<Record> record = fit(texts, config);
  report.json["perturbed"] = export_perturbed_texts(texts.data, texts.tokens, *text_record(*record).tokenizer,
                                                    static_cast<uint64_t>(config.train.seed), folder);
  report.text += fmt::format("{}: perturbed copies of the test texts as tokens, drawn by seed {}\n",
                             (folder / "perturbed").string(), config.train.seed);
  return report;
}

DataReport TextModality::make_data(const Config& config, const fs::path& file) const {
  const TextData data = load_texts(config.data);
  write_texts(file, data);
  DataReport report = known_truth(config);
  report.json.update({{"rows", data.texts.size()}, {"output", file.string()}});
  report.text = fmt::format("{}: {} texts; {}\n", file.string(), with_thousands(data.texts.size()), report.text);
  return report;
}

DataReport TextModality::known_truth(const Config&) const {
  const PlantedTextScores best = planted_text_bayes();
  return {{{"bayes_auc", best.auc}, {"bayes_nll", best.nll}},
          fmt::format("the best possible AUC is {:.4f}, the best possible NLL {:.4f}", best.auc, best.nll)};
}

std::unique_ptr<Run> TextModality::open(const fs::path& path, const Machine& machine) const {
  return std::make_unique<TextRun>(path, machine);
}

}  // namespace l0gm
