#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_stamp.h"
#include "training/config.h"
#include "training/environment.h"
#include "training/task.h"

// A kind of data (tables, graphs, …) as an object. Lists of modalities are passed as arguments; the product's is modalities().
//   train(modalities(), config, out, …);  std::unique_ptr<Run> run = open_run(modalities(), path, machine);
namespace l0gm {

class Run;

// Data as it was read: what a run is trained on. May keep what fitting computed, for the task.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual const std::string& name() const = 0;  // for messages and the run's record: "adult/openml/0", "bank.csv"
  bool serves_more_tasks = false;               // make_task() will be called again: it must leave everything where it is
};

// What a run knows about its data without having it: schema.json.
class Record {
 public:
  virtual ~Record() = default;
  virtual nlohmann::json to_json() const = 0;
  virtual std::string label() const = 0;  // what is predicted
  virtual const std::vector<std::string>& class_names() const = 0;
  virtual const std::vector<int64_t>& rows_of_classes() const = 0;  // in training

  std::string dataset;
  std::vector<FileStamp> files;
  std::string training_rows;         // SHA-256 of which rows were trained on
  std::string teacher;               // SHA-256 of the weights that soft labels came from; "": none
  std::vector<std::string> planted;  // made data: the inputs that carry signal; else empty
};

// An option that starts elsewhere than its declaration says.
struct Default {
  std::string_view key, value;
};

// Settings that compete with those that stand, each a list of assignments, "graph.residual=linear"; the best of a round stands in
// the next one.
using TrialRound = std::vector<std::vector<std::string>>;
struct Trials {
  std::vector<TrialRound> rounds;
  bool in_full = false;  // each is trained as the run will be, gate included; else for a quarter of the epochs and without a gate
  bool refits = false;   // settings change what is fitted to the data: each attempt has a record of its own, and so has the run
  double errors = 0;     // by how many standard errors of the difference a challenger has to be better
};

// What a verb that writes data says: as JSON, and for people.
struct DataReport {
  nlohmann::json json;
  std::string text;
};

class Modality {
 public:
  virtual ~Modality() = default;
  virtual std::string_view name() const = 0;              // "table"
  virtual bool reads(const DataOptions& data) const = 0;  // whether data.source is one of its own
  virtual std::vector<Default> defaults() const = 0;
  virtual std::vector<std::string> models() const = 0;  // what model.name may be
  // Defaults that follow from other options; called once the named ones are set.
  virtual void resolve(OptionList&, const Config&) const {}
  // Defaults that follow from the data: sets options of config.left_open, and no others.
  virtual void settle(Config&, const Record&) const {}
  // Defaults that only training can tell (training/trials.h): none where the options that they are about were named.
  virtual Trials trials(const Config&, const Record&) const { return {}; }
  // What resolve() and settle() do, as rows of docs/options.md.
  virtual std::vector<std::string> resolved_defaults() const { return {}; }
  // UserError for options that contradict each other or would have no effect, before anything is read.
  virtual void check(const Config&, const Machine&) const {}

  virtual std::shared_ptr<Dataset> load(const Config& config) const = 0;
  virtual std::unique_ptr<Record> fit(Dataset& dataset, const Config& config) const = 0;  // training rows only
  virtual std::unique_ptr<Record> read_record(const nlohmann::json& json) const = 0;      // UserError when it is damaged
  // What only the machine can tell and training depends on, such as the time that parts of an encoder take, into the record.
  // `stored`: the record of the run that is resumed, whose word stands; nullptr: a new run.
  virtual void measure(Record&, const Dataset&, const Config&, const Machine&, const Record* /*stored*/) const {}
  virtual std::shared_ptr<Model> make_model(const Record& record, const Config& config, uint64_t seed) const = 0;
  // Weights that training starts from, where they are not drawn: a pretrained encoder.
  virtual void start(Model&, const Config&) const {}
  // Of another run's weights that this model is to start from (model.init_from): leaves out what it can do without.
  virtual void leave_out(TensorMap& /*weights*/, const Model&) const {}
  virtual std::unique_ptr<Task> make_task(const std::shared_ptr<Dataset>& dataset, const Record& record,
                                          std::shared_ptr<Model> model, const Config& config, const Machine& machine) const = 0;
  // A line for the log when training starts.
  virtual std::string describe(const Dataset& dataset, const Record& record, const Model& model) const = 0;
  // The data of a configuration for other tools, into a folder; `perturb`: perturbed copies of the test rows, too.
  virtual DataReport export_data(const Config& config, const std::filesystem::path& folder, bool perturb) const;
  // A made dataset, as one file.
  virtual DataReport make_data(const Config& config, const std::filesystem::path& file) const;
  // What is known of a made dataset whatever its size; nothing: no text.
  virtual DataReport known_truth(const Config&) const { return {}; }
  // A finished run of this modality (training/run.h).
  virtual std::unique_ptr<Run> open(const std::filesystem::path& path, const Machine& machine) const = 0;
};

using Modalities = std::vector<const Modality*>;

// By name, or by data.source; UserError naming those there are.
const Modality& modality_named(const Modalities& modalities, std::string_view name);
const Modality& modality_of(const Modalities& modalities, const DataOptions& data);
// Whether the catalogue lists the source under this modality.
bool is_catalogued(const std::string& source, std::string_view modality);

}  // namespace l0gm
