#include "model/table_model.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <fmt/format.h>

#include "base/text.h"
#include "encoders/table/field_embeddings.h"
#include "heads/batch_ensemble.h"
#include "heads/cin.h"
#include "heads/deep.h"
#include "heads/fm.h"
#include "heads/linear.h"
#include "heads/sum.h"
#include "l0gm/error.h"

namespace l0gm {

namespace {

// What a model's logit is the sum of.
struct Branches {
  bool linear = false, pairs = false, cin = false, deep = false;
};

const std::vector<std::pair<std::string, Branches>>& table_models() {
  static const std::vector<std::pair<std::string, Branches>> models = {{"mlp", {.deep = true}},
                                                                       {"linear", {.linear = true}},
                                                                       {"fm", {.linear = true, .pairs = true}},
                                                                       {"wide-deep", {.linear = true, .deep = true}},
                                                                       {"deepfm", {.linear = true, .pairs = true, .deep = true}},
                                                                       {"cin", {.cin = true}},
                                                                       {"xdeepfm", {.linear = true, .cin = true, .deep = true}}};
  return models;
}

Branches branches_of(const std::string& name) {
  for (const auto& [known, branches] : table_models()) {
    if (known == name) return branches;
  }
  throw UserError(fmt::format("model.name is '{}', and a table model is one of {}", name, join(table_model_names(), ", ")));
}

// The sum over all pairs of fields is large where embeddings start far apart, and training would begin by undoing it.
StartDeviations start_of(const Branches& branches, const FmOptions& fm) {
  return branches.pairs && !fm.weighted ? StartDeviations{0.05, 0.05} : StartDeviations{};
}

// In which proportion the loss sees the classes.
std::vector<int64_t> weights_of_classes(const Schema& schema, const TableModelOptions& options) {
  return options.balanced ? std::vector<int64_t>(schema.classes.size(), 1) : schema.class_rows;
}

// One member, or no hidden layer: there is nothing to share.
bool shares_layers(const ModelOptions& model) {
  return model.ensemble == EnsembleKind::batch && model.members > 1 && model.depth > 0;
}

bool is_priced_by_serving(const GateOptions& gate) { return gate.unit != UnitKind::none && gate.cost == UnitCost::serving; }

void require_priced_units(const GateOptions& gate) {
  if (gate.unit == UnitKind::fine) {
    throw UserError(
        "gate.cost = serving prices what is looked up, and a single value costs nothing of its own: gate.unit = dimension (units "
        "are then look-ups) or group (columns), not fine");
  }
  if (gate.attach != Attach::interface) {
    throw UserError(
        fmt::format("gate.cost = serving prices the interface: leave out gate.attach; found {}", gate.attach.names()));
  }
  if (gate.logits == LogitKind::instance) {
    throw UserError(
        "gate.cost = serving prices a file from which closed units are removed; with gate.logits = instance each row has others: "
        "take global");
  }
}

// Closing single dimensions of a folded table saves nothing: units are what is looked up at once, unless they are columns.
FieldEmbeddings::Sources sources_for(const GateOptions& gate) {
  return is_priced_by_serving(gate) && gate.unit == UnitKind::dimension ? FieldEmbeddings::Sources::look_ups
                                                                        : FieldEmbeddings::Sources::columns;
}

// Multiplications of a model behind its first layer, and those of pairs and maps of fields.
ServedShape served_shape(const Branches& branches, const TableModelOptions& options, const HeadShape& shape, bool shares) {
  const ModelOptions& model = options.model;
  const auto hidden = static_cast<double>(model.hidden), members = static_cast<double>(model.members),
             fields = static_cast<double>(shape.fields), width = static_cast<double>(shape.width);
  const int64_t logits = (shares ? 1 : model.members) * shape.outputs;
  ServedShape served;
  served.sums = (branches.deep && model.depth > 0 ? model.members * model.hidden : 0) + logits;
  if (branches.deep && model.depth > 0) {
    served.products = members * hidden * (hidden * static_cast<double>(model.depth - 1) + static_cast<double>(shape.outputs));
  }
  if (branches.pairs) served.grid_products += fields * (fields - 1) / 2 * width * static_cast<double>(logits);
  double before = fields;
  for (size_t k = 0; branches.cin && k < options.cin.maps.size(); ++k) {
    const bool last = k + 1 == options.cin.maps.size();  // folded into the logits
    const double maps = last ? static_cast<double>(logits) : static_cast<double>(options.cin.maps[k]);
    served.grid_products += before * fields * maps * width;
    before = maps;
  }
  return served;
}

std::shared_ptr<Model> make_linear(const Schema& schema, const std::vector<FieldCounts>& counts, const TableModelOptions& options,
                                   GateOptions gate, HeadShape shape) {
  shape.width = shape.members * shape.outputs;
  // Several members must start apart, or they would stay one.
  const double start = shape.members > 1 ? 0.01 : 0;
  auto encoder = std::make_shared<FieldEmbeddings>(schema, counts, shape.width, StartDeviations{start, start});
  auto head = std::make_shared<SumHead>(weights_of_classes(schema, options), shape.members);
  head->add("linear", std::make_shared<TermSumHead>(shape));
  if (gate.unit == UnitKind::dimension && gate.attach == Attach::interface) gate.unit = UnitKind::group;
  if (is_priced_by_serving(gate)) encoder->set_serving_costs({shape.width, 0, 0}, options.prices);
  return std::make_shared<Model>(encoder, head, options.model.interface_dropout, gate);
}

}  // namespace

std::vector<std::string> table_model_names() {
  std::vector<std::string> names;
  for (const auto& [name, unused] : table_models()) names.push_back(name);
  return names;
}

bool has_deep_branch(const std::string& name) { return branches_of(name).deep; }

std::shared_ptr<Model> make_table_model(const Schema& schema, const std::vector<FieldCounts>& counts,
                                        const TableModelOptions& options, const GateOptions& gate, uint64_t seed) {
  at::manual_seed(seed);
  const ModelOptions& model = options.model;
  const Branches branches = branches_of(model.name);
  if (is_priced_by_serving(gate)) require_priced_units(gate);
  HeadShape shape;
  shape.members = model.members;
  shape.outputs = outputs_for(static_cast<int64_t>(schema.classes.size()));
  shape.statistics = schema.statistic_slots();
  shape.fields = static_cast<int64_t>(schema.fields.size()) - shape.statistics;
  shape.width = model.width;
  if (model.name == "linear") return make_linear(schema, counts, options, gate, shape);
  if (branches.cin && options.cin.maps.empty())
    throw UserError("cin.maps is empty: name the feature maps of each depth, such as [32, 32]");
  auto encoder =
      std::make_shared<FieldEmbeddings>(schema, counts, model.width, start_of(branches, options.fm), sources_for(gate));
  auto head = std::make_shared<SumHead>(weights_of_classes(schema, options), model.members);
  const bool batch = shares_layers(model) && branches.deep;
  if (is_priced_by_serving(gate)) encoder->set_serving_costs(served_shape(branches, options, shape, batch), options.prices);
  if (batch) shape.members = 1;  // of the other branches: their logits are added to every member's
  if (branches.linear) head->add("linear", std::make_shared<LinearHead>(schema, counts, *encoder, shape));
  if (branches.pairs) head->add("pairs", std::make_shared<FmHead>(shape, options.fm.weighted));
  if (branches.cin) head->add("cin", std::make_shared<CinHead>(shape, options.cin.maps, options.cin.rank));
  if (batch) {
    head->add("deep", std::make_shared<BatchEnsembleHead>(shape.dimensions(), model.depth, model.hidden, shape.outputs,
                                                          model.members, model.dropout));
  } else if (branches.deep) {
    head->add("deep", std::make_shared<DeepHead>(shape.dimensions(), model.depth, model.hidden, shape.outputs, model.members,
                                                 model.dropout));
  }
  return std::make_shared<Model>(encoder, head, model.interface_dropout, gate);
}

}  // namespace l0gm
