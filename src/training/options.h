#pragma once

#include <map>
#include <optional>
#include <string>

#include "encoders/matmul.h"
#include "l0gm/options.h"
#include "metrics/calibrator.h"

namespace l0gm {

enum class ClassWeights { none, balanced };
template <>
inline constexpr auto enum_names<ClassWeights> = std::to_array<std::string_view>({"none", "balanced"});
enum class Decay { cosine, linear, constant };
template <>
inline constexpr auto enum_names<Decay> = std::to_array<std::string_view>({"cosine", "linear", "constant"});
enum class Selection { loss, calibrated };
template <>
inline constexpr auto enum_names<Selection> = std::to_array<std::string_view>({"loss", "calibrated"});
enum class Quality { good, fast, best };
template <>
inline constexpr auto enum_names<Quality> = std::to_array<std::string_view>({"good", "fast", "best"});
enum class Precision { float32, float64 };
template <>
inline constexpr auto enum_names<Precision> = std::to_array<std::string_view>({"float32", "float64"});

enum class DenseTeacher { automatic, on, off };
template <>
inline constexpr auto enum_names<DenseTeacher> = std::to_array<std::string_view>({"auto", "on", "off"});

struct DistillOptions {
  std::string from;
  DenseTeacher dense = DenseTeacher::automatic;
  std::map<std::string, std::string> settings;
  double weight = 0.5;
  double temperature = 1;
  double hidden_weight = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("from", from, "a finished run on the same split whose probabilities are learned beside the labels; empty: none").path();
    v("dense", dense,
      "the teacher is a dense model, which is trained first and not kept. `auto`: `on` for a gate on dimensions of a table of "
      "few rows whose model nobody named (see below)")
        .refused_unless("modality = table");
    v("settings", settings,
      "what that model has different of `model`, `train`, `schedule`, …, `{ \"model.members\" = \"8\" }`; it reads the same "
      "columns and statistics; what is left open follows from there being no gate")
        .read_by("distill.dense = auto | on");
    v("weight", weight, "their share of the loss; the labels have the rest", between(0, 1))
        .refused_unless("distill.from is set or distill.dense = on");
    v("temperature", temperature, "both probabilities are softened by it; the loss is scaled back by its square", above(0))
        .refused_unless("distill.from is set or distill.dense = on");
    v("hidden_weight", hidden_weight,
      "texts: the interface, which is the state after the last layer, is to come near the teacher's as well: what the squared "
      "distance adds to the loss, as a share of the variance of the teacher's",
      at_least(0))
        .read_by("modality = text")
        .refused_unless("distill.from is set");
  }
};

struct ServeOptions {
  bool pupil = false;
  std::map<std::string, std::string> settings;

  template <class Visitor>
  void visit(Visitor& v) {
    v("pupil", pupil,
      "when the run is trained, a small model of one member learns from it, in RUN/pupil; `compact RUN` then writes the pupil")
        .refused_unless("modality = table");
    v("settings", settings,
      "what the pupil has different, `{ \"model.hidden\" = \"63\" }`; else one hidden layer of 31 units, no statistics, "
      "distill.weight 0.7, and the rest as the teacher")
        .read_by("serve.pupil = true");
  }
};

struct TrainOptions {
  Quality quality = Quality::good;
  bool trials = true;
  int64_t epochs = 20;
  int64_t batch = 256;
  double lr = 2e-3;
  std::optional<double> gate_lr;
  std::optional<double> head_lr;
  double weight_decay = 0.01;
  double clip = 1.0;
  double ema = 0.995;
  int64_t patience = 0;
  double label_smoothing = 0;
  ClassWeights class_weights = ClassWeights::none;
  std::map<std::string, std::string> weight_of_class;
  double lr_warmup = 0.04;
  Decay lr_decay = Decay::cosine;
  double lr_end = 0.02;
  bool lr_restart = false;
  CalibratorKind calibrator = CalibratorKind::temperature;
  Selection select = Selection::loss;
  double checkpoint_every = 1;
  double evaluate_every = 1;
  Precision precision = Precision::float32;
  std::optional<Matmul> matmul;
  int64_t accumulate = 1;
  bool capture = true;
  int64_t seed = 0;

  template <class Visitor>
  void visit(Visitor& v) {
    v("quality", quality,
      "how much time a training may take: what the other settings follow from where they are not named, together with the "
      "table's rows, columns and classes (below: defaults of a table)")
        .read_by("modality = table");
    v("trials", trials,
      "settings that are not named and that only training can tell are tried, and what has the lowest validation loss is taken. "
      "Graphs: depth, dropout and residual, for a quarter of the epochs each and without a gate. Tables of fewer than 5,000 "
      "training rows: few or many statistics (`table.rows_per_input`), each trained in full")
        .read_by("modality = table | graph");
    v("epochs", epochs, "passes over the training rows", between(1, 1000000));
    v("batch", batch, "rows of one step", between(1, 10000000));
    v("lr", lr, "learning rate (AdamW)", above(0));
    v("gate_lr", gate_lr,
      "learning rate of the gate logits, the same at every step and without weight decay; unset: from the number of annealing "
      "steps",
      above(0));
    v("head_lr", head_lr, "learning rate of the head; unset: as `lr`", above(0));
    v("weight_decay", weight_decay, "decoupled weight decay", at_least(0));
    v("clip", clip, "largest norm of the gradient; 0: no clipping", at_least(0));
    v("ema", ema, "decay of the averaged weights that are evaluated and kept; 0: none", Limit{0, 1, false, true});
    v("patience", patience,
      "epochs without a better validation loss after which a run stops, counted once gates are fixed; 0: never", at_least(0));
    v("label_smoothing", label_smoothing, "share of the label's mass spread over all classes", Limit{0, 1, false, true});
    v("class_weights", class_weights, "`balanced` weighs each class by the inverse of its share");
    v("weight_of_class", weight_of_class,
      "how much the rows of single classes count, `{ fraud = \"5\" }`; the others 1; multiplied with `class_weights`");
    v("lr_warmup", lr_warmup, "share of the steps over which the learning rate rises", between(0, 1));
    v("lr_decay", lr_decay, "how it falls afterwards");
    v("lr_end", lr_end, "where it ends, as a share of `lr`", between(0, 1));
    v("lr_restart", lr_restart,
      "once gates are fixed it rises and falls again over the steps that are left, and the optimiser starts anew: what is left "
      "of the model trains at a full rate");
    v("calibrator", calibrator, "fitted on validation rows and stored with the run");
    v("select", select,
      "which weights are kept: those with the lowest validation `loss`, or with the lowest one once probabilities are "
      "`calibrated` (`calibrator`, each row by one that was fitted to others); so, too, what counts for `patience`");
    v("checkpoint_every", checkpoint_every, "epochs between checkpoints; below 1: several in an epoch", above(0));
    v("evaluate_every", evaluate_every,
      "epochs between looks at the validation rows, below 1: several in an epoch; the last step is always looked at", above(0));
    v("precision", precision, "of weights and arithmetic");
    v("matmul", matmul,
      "texts, graphs: dense matrix products of the encoder in this precision, weights and everything else in `precision`; unset: "
      "bfloat16 for texts on a GPU, else float32; graphs: others than float32 on a GPU only")
        .read_by("modality = text | graph");
    v("accumulate", accumulate, "batches whose gradients are added up before the weights move: a larger batch in less memory",
      between(1, 65536));
    v("capture", capture,
      "on a GPU, tables and whole graphs: a step is captured as a CUDA graph and replayed, which spares the processor "
      "starting its kernels one by one");
    v("seed", seed, "of weights, order of rows, noise; picks one of a dataset's fixed splits", at_least(0));
  }
};

}  // namespace l0gm
