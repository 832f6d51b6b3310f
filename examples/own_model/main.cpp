// A classifier of sixteen inputs of which four matter. The gate has to find them; the lines that use it are marked with `gate`.
#include <l0gm/gate.h>
#include <torch/torch.h>

#include <iostream>
#include <set>

int main() {
  torch::manual_seed(1);
  const std::set<int64_t> matter = {2, 3, 7, 12};
  const int64_t inputs = 16, rows = 4000, batch = 200, epochs = 30, steps = epochs * rows / batch;
  const torch::Tensor x = torch::randn({rows, inputs});
  const torch::Tensor logit = 2 * x.select(1, 2) - 2 * x.select(1, 3) + 2 * x.select(1, 7) * x.select(1, 12);
  const torch::Tensor y = torch::rand({rows}).lt(torch::sigmoid(3 * logit)).to(torch::kFloat32);

  torch::nn::Sequential head(torch::nn::Linear(inputs, 32), torch::nn::ReLU(), torch::nn::Linear(32, 1));
  l0gm::GateOptions options;                                                                // gate: one per input,
  options.control = l0gm::ControlKind::target;                                              // gate: a quarter of them
  options.target_active = 0.25;                                                             // gate: stays open
  const l0gm::GateSite site{"inputs", l0gm::HardConcrete(options, torch::ones({inputs}))};  // gate: each costs 1
  const l0gm::Schedule schedule{l0gm::ScheduleOptions{}};                                   // gate: open, anneal, fixed
  l0gm::GateControl control(options, {&site}, {.annealing_steps = steps / 2});              // gate: moves their logits

  torch::optim::Adam weights(head->parameters(), 5e-3);
  bool hardened = false;
  torch::Tensor order;
  for (int64_t step = 0; step < steps; ++step) {
    if (step * batch % rows == 0) order = torch::randperm(rows);
    const torch::Tensor ids = order.narrow(0, step * batch % rows, batch);
    const l0gm::GateState state = control.state(schedule.at(double(step) / double(steps)));  // gate: where training stands
    if (state.phase == l0gm::Phase::harden && !hardened) {
      control.harden(state);  // gate: fixed from here on
      hardened = true;
    }
    l0gm::GatePass pass(state, /*seed=*/0, step, ids);                                     // gate: one forward pass
    const torch::Tensor output = head->forward(pass.apply(site, x.index_select(0, ids)));  // gate: in front of the head
    torch::Tensor loss = torch::binary_cross_entropy_with_logits(output.squeeze(1), y.index_select(0, ids));
    if (const torch::Tensor penalty = control.penalty(pass); penalty.defined()) loss = loss + penalty;  // gate: the price
    weights.zero_grad();
    loss.backward();
    control.observe(pass);  // gate: logits move by what their units are worth
    weights.step();
  }

  const torch::Tensor open = site.gate->test_values(schedule.at(1)).gt(0);
  std::set<int64_t> found;
  for (int64_t i = 0; i < inputs; ++i) {
    if (open[i].item<bool>()) found.insert(i);
  }
  std::cout << "open inputs:";
  for (const int64_t input : found) std::cout << ' ' << input;
  std::cout << (found == matter ? "  (exactly those that matter)\n" : "  (wanted: 2 3 7 12)\n");
  return found == matter ? 0 : 1;
}
