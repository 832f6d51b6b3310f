#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <fmt/format.h>

#include "encoders/table/field_embeddings.h"
#include "heads/cin.h"
#include "heads/deep.h"
#include "heads/fm.h"
#include "heads/linear.h"
#include "heads/sum.h"
#include "l0gm/error.h"
#include "model/model.h"

namespace l0gm {

namespace {

// What a model's logit is the sum of.
struct Branches {
  bool linear = false, pairs = false, cin = false, deep = false;
};

Branches branches_of(ModelName name) {
  switch (name) {
    case ModelName::mlp:
      return {.deep = true};
    case ModelName::linear:
      return {.linear = true};
    case ModelName::fm:
      return {.linear = true, .pairs = true};
    case ModelName::wide_deep:
      return {.linear = true, .deep = true};
    case ModelName::deepfm:
      return {.linear = true, .pairs = true, .deep = true};
    case ModelName::cin:
      return {.cin = true};
    case ModelName::xdeepfm:
      return {.linear = true, .cin = true, .deep = true};
    case ModelName::gcn:
    case ModelName::sage:
    case ModelName::gat:
      break;
  }
  throw UserError(
      fmt::format("model.name = {} reads a graph, and this is a table: take mlp, linear, fm, wide-deep, deepfm, cin or xdeepfm",
                  name_of_enum(name)));
}

// The sum over all pairs of fields is large where embeddings start far apart, and training would begin by undoing it.
StartDeviations start_of(const Branches& branches, const FmOptions& fm) {
  return branches.pairs && !fm.weighted ? StartDeviations{0.05, 0.05} : StartDeviations{};
}

// In which proportion the loss sees the classes.
std::vector<int64_t> weights_of_classes(const Schema& schema, const TableModelOptions& options) {
  return options.balanced ? std::vector<int64_t>(schema.classes.size(), 1) : schema.class_rows;
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
  return std::make_shared<Model>(encoder, head, options.model.interface_dropout, gate);
}

}  // namespace

std::shared_ptr<Model> make_table_model(const Schema& schema, const std::vector<FieldCounts>& counts,
                                        const TableModelOptions& options, const GateOptions& gate, uint64_t seed) {
  at::manual_seed(seed);
  const ModelOptions& model = options.model;
  const Branches branches = branches_of(model.name);
  HeadShape shape;
  shape.members = model.members;
  shape.outputs = outputs_for(static_cast<int64_t>(schema.classes.size()));
  shape.statistics = schema.slope_slots() - schema.code_slots();
  shape.fields = static_cast<int64_t>(schema.fields.size()) - shape.statistics;
  shape.width = model.width;
  if (model.name == ModelName::linear) return make_linear(schema, counts, options, gate, shape);
  if (branches.cin && options.cin.maps.empty())
    throw UserError("cin.maps is empty: name the feature maps of each depth, such as [32, 32]");
  auto encoder = std::make_shared<FieldEmbeddings>(schema, counts, model.width, start_of(branches, options.fm));
  auto head = std::make_shared<SumHead>(weights_of_classes(schema, options), model.members);
  if (branches.linear) head->add("linear", std::make_shared<LinearHead>(schema, counts, *encoder, shape));
  if (branches.pairs) head->add("pairs", std::make_shared<FmHead>(shape, options.fm.weighted));
  if (branches.cin) head->add("cin", std::make_shared<CinHead>(shape, options.cin.maps, options.cin.rank));
  if (branches.deep) {
    head->add("deep", std::make_shared<DeepHead>(shape.dimensions(), model.depth, model.hidden, shape.outputs, model.members,
                                                 model.dropout));
  }
  return std::make_shared<Model>(encoder, head, model.interface_dropout, gate);
}

}  // namespace l0gm
