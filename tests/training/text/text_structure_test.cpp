#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "compact/text/tiny_text.h"
#include "encoders/text/text_encoder.h"
#include "l0gm/error.h"
#include "model/tensor_file.h"
#include "training/text/part_times.h"
#include "training/text/text_modality.h"

// Training with gates on heads, neurons and layers.
namespace l0gm {
namespace {

namespace fs = std::filesystem;
using namespace testing_tools;
using Settings = std::vector<std::string>;

Settings structured(const Settings& more = {}) {
  Settings settings = {"encoder.depth=3", "gate.attach=heads+ffn+layers", "schedule.warmup=0.1"};
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

TEST(TextStructure, ATargetIsAShareOfTheOperations) {
  const TrainedTinyText trained(structured({"gate.target_active=0.5"}));
  TextRun run(trained.run, text_machine());
  EXPECT_EQ(run.config.gate.cost, UnitCost::flops);
  EXPECT_GT(run.text.mean_square_tokens, run.text.mean_tokens * run.text.mean_tokens);
  const GateReport gates = run.gates(Split::test);
  EXPECT_EQ(gates.units, 3 + 6 + 72);
  EXPECT_LE(gates.active_cost_fraction, 0.5 + 1e-6);
  EXPECT_GT(gates.active_cost_fraction, 0.4);
  EXPECT_LT(gates.parameters, gates.parameters_dense);
  const StructureReport left = *run.structure();
  EXPECT_GT(left.speedup, 1.5);
  EXPECT_LT(left.heads + left.neurons, 6 + 72);
  Evaluation evaluation;
  run.add_figures(Split::test, evaluation);
  EXPECT_EQ(evaluation.further["speedup_by_cost"].get<double>(), left.speedup);
}

TEST(TextStructure, ARunPredictsWithTheNarrowedEncoder) {
  const TrainedTinyText trained(structured({"gate.target_active=0.4", "train.precision=float64"}));
  TextRun run(trained.run, text_machine());
  const auto& narrowed = dynamic_cast<const TextEncoder&>(run.served()->encoder());
  EXPECT_LT(narrowed.config().parameters(), run.text.encoder.parameters());
  dynamic_cast<TextEncoder&>(run.model->encoder()).compute_closed_parts(true);
  const Predictions masked = predict_texts(*run.model, run.gate_state, run.rows(Split::test), run.text.classes, torch::kCPU);
  EXPECT_LT(gap_of(run.predict(Split::test).probabilities, masked.probabilities), 1e-9);
}

TEST(TextStructure, GoesOnAfterAStopBitForBit) {
  for (const Settings& more : {Settings{"gate.target_active=0.5"}, Settings{"gate.target_speedup=1.3"},
                               Settings{"gate.target_active=0.6", "gate.logits=static", "gate.static_rounds=3"}}) {
    const Config config = tiny_text_config(structured(more));
    const TemporaryFolder folder;
    struct Stopper : Observer {
      std::atomic<bool>& stop;
      int64_t at;
      Stopper(std::atomic<bool>& flag, int64_t step) : stop(flag), at(step) {}
      void step_finished(int64_t step, int64_t, double) override { stop = stop || step == at; }
    };
    std::atomic<bool> never{false};
    const auto run = [&](const fs::path& out, bool resume, int64_t until) {
      std::atomic<bool> stop{false};
      Stopper stopper(stop, until);
      return train(modalities(), config, out, resume, text_machine(), {&stopper}, stop);
    };
    const fs::path parts = folder.path() / "parts";
    int64_t calls = 0;
    for (const int64_t until : {7, 20, 31, -1}) {  // in warm-up, while annealing, hardened, to the end
      ++calls;
      if (run(parts, calls > 1, until)) break;
    }
    EXPECT_GT(calls, 2);
    // Times that were measured differ from run to run: the whole run starts from the record of the other.
    const fs::path whole = folder.path() / "whole";
    if (config.gate.target_speedup) {
      TextRun finished(parts, text_machine());
      EXPECT_TRUE(finished.text.times.has_value());
      continue;
    }
    ASSERT_TRUE(run(whole, false, -1));
    const TensorMap a = load_tensors(parts / "checkpoint/best.safetensors").tensors,
                    b = load_tensors(whole / "checkpoint/best.safetensors").tensors;
    ASSERT_EQ(a.size(), b.size());
    for (const auto& [name, tensor] : a) EXPECT_TRUE(at::equal(tensor, b.at(name))) << name;
  }
}

TEST(TextStructure, ASpeedUpIsByMeasuredTimesAndOnEveryPart) {
  const Config config = tiny_text_config({"encoder.depth=3", "gate.target_speedup=1.3"});
  EXPECT_EQ(config.gate.cost, UnitCost::latency);
  EXPECT_EQ(config.gate.attach, (EnumSet<Attach>{Attach::heads, Attach::ffn, Attach::layers}));
  const TrainedTinyText trained(&config);
  TextRun run(trained.run, text_machine());
  ASSERT_TRUE(run.text.times.has_value());
  EXPECT_EQ(run.text.timed_on, "cpu");
  for (const double time : {run.text.times->besides, run.text.times->rest, run.text.times->head, run.text.times->neuron})
    EXPECT_GT(time, 0);
  EXPECT_GE(run.structure()->speedup, 1.3 - 1e-3);

  const auto with_times_of = [&](const std::string& shape, const std::string& from) {
    return tiny_text_config({shape, "gate.target_speedup=1.2", "encoder.times_from=" + from});
  };
  for (const std::string depth : {"encoder.depth=3", "encoder.depth=2"}) {  // times are of a layer
    const Config same = with_times_of(depth, trained.run.string());
    const TrainedTinyText other(&same);
    EXPECT_EQ(TextRun(other.run, text_machine()).text.times->head, run.text.times->head) << "the same prices";
  }
  const auto refusal = [&](const Config& wrong) {
    const TemporaryFolder folder;
    const std::atomic<bool> stop{false};
    return message_of<UserError>([&] { train(modalities(), wrong, folder.path() / "run", false, text_machine(), {}, stop); });
  };
  EXPECT_NE(refusal(with_times_of("encoder.heads=4", trained.run.string())).find("another shape"), std::string::npos);
  const TrainedTinyText dense({"encoder.depth=3", "gate.unit=none"});
  EXPECT_NE(refusal(with_times_of("encoder.depth=3", dense.run.string())).find("measured no times"), std::string::npos);
}

TEST(TextStructure, ASpeedUpThatCannotBeIsRefusedBeforeThereIsAFolder) {
  const Config config = tiny_text_config(structured({"gate.target_speedup=5000", "gate.cost=flops"}));
  const TemporaryFolder folder;
  const std::atomic<bool> stop{false};
  const std::string refusal =
      message_of<UserError>([&] { train(modalities(), config, folder.path() / "run", false, text_machine(), {}, stop); });
  EXPECT_NE(refusal.find("cannot be met"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("times as fast"), std::string::npos) << refusal;
  EXPECT_FALSE(fs::exists(folder.path() / "run"));
}

TEST(TextStructure, MasksByPlaceAndRankAreControls) {
  const auto left = [](const Settings& more) {
    Settings settings = {"encoder.depth=4", "gate.logits=static", "gate.target_active=0.5", "schedule.warmup=0.1",
                         "train.epochs=3"};
    settings.insert(settings.end(), more.begin(), more.end());
    const TrainedTinyText trained(settings);
    TextRun run(trained.run, text_machine());
    std::vector<bool> open;
    for (const GateSite* site : run.model->sites()) {
      const torch::Tensor values = site->gate->test_values(run.gate_state).gt(0);
      for (int64_t u = 0; u < values.size(0); ++u) open.push_back(values[u].item<bool>());
    }
    return open;
  };
  using Open = std::vector<bool>;
  EXPECT_EQ(left({"gate.attach=layers", "gate.static_by=first", "schedule.warmup=0"}), (Open{true, true, false, false}));
  EXPECT_EQ(left({"gate.attach=layers", "gate.static_by=last"}), (Open{false, false, true, true}));
  EXPECT_EQ(left({"gate.attach=layers", "gate.static_by=alternate"}), (Open{true, false, true, false}));
  const Open heads = left({"gate.attach=heads", "gate.static_by=gradient"}),
             neurons = left({"gate.attach=ffn", "gate.static_by=magnitude"});
  EXPECT_EQ(std::count(heads.begin(), heads.end(), true), 4);
  EXPECT_EQ(std::count(neurons.begin(), neurons.end(), true), 48);
}

TEST(TextStructure, LayersCanBeClosedByWhatTheyAreWorthOnValidationTexts) {
  const TrainedTinyText trained({"encoder.depth=3", "gate.attach=layers", "gate.target_active=0.34", "gate.worth=measured"});
  TextRun run(trained.run, text_machine());
  EXPECT_EQ(run.structure()->layers, 1);
}

TEST(TextStructure, OptionsThatContradictAreRefused) {
  const TextModality text;
  const auto refused = [&](const Settings& settings) {
    return message_of<UserError>([&] { text.check(tiny_text_config(settings), text_machine()); });
  };
  EXPECT_NE(refused({"gate.target_speedup=2", "gate.cost=unit"}).find("latency or flops"), std::string::npos);
  EXPECT_NO_THROW(text.check(tiny_text_config({"gate.target_speedup=2", "gate.unit=none"}), text_machine())) << "dense";
  EXPECT_NE(message_of<UserError>([&] {
              const Config config = tiny_text_config({"gate.cost=flops"});
              const auto dataset = text.load(config);
              text.make_model(*text.fit(*dataset, config), config, 0);
            }).find("gate.attach"),
            std::string::npos);
}

TEST(TextDistillation, TheInterfaceComesNearTheTeachers) {
  const TrainedTinyText teacher({"gate.unit=none"});
  TextRun its(teacher.run, text_machine());
  const torch::Tensor wanted = its.interface_of(Split::train);
  EXPECT_EQ(wanted.sizes(), (std::vector<int64_t>{180, 16}));
  const auto distance = [&](const std::string& weight) {
    const TrainedTinyText pupil({"distill.from=" + teacher.run.string(), "distill.hidden_weight=" + weight, "gate.unit=none",
                                 "encoder.depth=2", "train.epochs=8"});
    TextRun run(pupil.run, text_machine());
    return (run.interface_of(Split::train) - wanted).square().mean().item<double>();
  };
  EXPECT_LT(distance("20"), 0.7 * distance("0"));
  const Config wide = tiny_text_config({"distill.from=" + teacher.run.string(), "distill.hidden_weight=1", "encoder.width=32"});
  const std::string refusal = message_of<UserError>([&] { TrainedTinyText trained(&wide); });
  EXPECT_NE(refusal.find("16 dimensions"), std::string::npos) << refusal;
}

// Nothing about a clock is certain but that a larger encoder is not free.
TEST(TextClock, TimesEveryShape) {
  const Config config = tiny_text_config({});
  const TextModality text;
  const auto dataset = std::dynamic_pointer_cast<TextDataset>(text.load(config));
  const auto record = text.fit(*dataset, config);
  const auto& shape = dynamic_cast<const TextRecord&>(*record).encoder;
  const TextRows rows{&dataset->tokens, dataset->data.rows(Split::train), dataset->data.labels, {}, {}, {}};
  const TextClock clock(rows, config, text_machine());
  for (const double time : clock.microseconds({shape, shape})) EXPECT_GT(time, 0);
  const PartTimes times = measure_parts(clock, shape);
  for (const double time : {times.besides, times.rest, times.head, times.neuron}) EXPECT_GT(time, 0);
}

}  // namespace
}  // namespace l0gm
