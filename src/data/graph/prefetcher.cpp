#include "data/graph/prefetcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

namespace l0gm {

// Steps are counted through all epochs. Threads draw the window [first, first + ahead); a slot exists from the moment that a
// thread begins its step.
struct Prefetcher::State {
  struct Slot {
    std::optional<MessagePlan> plan;
    std::exception_ptr failure;
    bool ready() const { return plan.has_value() || failure != nullptr; }
  };

  std::shared_ptr<const GraphSampler> sampler;
  int64_t steps_per_epoch = 1, ahead = 1;
  std::mutex mutex;
  std::condition_variable work, done;
  std::map<int64_t, Slot> slots;
  std::optional<int64_t> first;  // nothing is drawn before the first call of take(), which sets the first step
  bool stopping = false;
  std::vector<std::jthread> threads;

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    work.notify_all();
    threads.clear();  // joins
  }

  std::optional<int64_t> next_undrawn() const {
    if (!first) return std::nullopt;
    for (int64_t step = *first; step < *first + ahead; ++step) {
      if (!slots.contains(step)) return step;
    }
    return std::nullopt;
  }

  Slot draw(int64_t step) const {
    Slot slot;
    try {
      slot.plan = sampler->draw(step / steps_per_epoch, step % steps_per_epoch);
    } catch (...) {
      slot.failure = std::current_exception();
    }
    return slot;
  }

  void run() {
    std::unique_lock lock(mutex);
    while (true) {
      std::optional<int64_t> step;
      work.wait(lock, [&] { return stopping || (step = next_undrawn()).has_value(); });
      if (stopping) return;
      slots.try_emplace(*step);
      lock.unlock();
      Slot drawn = draw(*step);
      lock.lock();
      // The window may have moved away meanwhile, and even back again: a step's plan does not depend on the thread that drew it.
      if (const auto slot = slots.find(*step); slot != slots.end() && !slot->second.ready()) slot->second = std::move(drawn);
      done.notify_all();
    }
  }

  MessagePlan take(int64_t step) {
    std::unique_lock lock(mutex);
    first = step;
    std::erase_if(slots, [&](const auto& slot) { return slot.first < step || slot.first >= step + ahead; });
    work.notify_all();
    done.wait(lock, [&] {
      const auto slot = slots.find(step);
      return slot != slots.end() && slot->second.ready();
    });
    Slot slot = std::move(slots.at(step));
    slots.erase(step);
    first = step + 1;
    work.notify_all();
    lock.unlock();
    if (slot.failure) std::rethrow_exception(slot.failure);
    return std::move(*slot.plan);
  }
};

Prefetcher::Prefetcher(std::shared_ptr<const GraphSampler> sampler, int64_t threads, int64_t ahead)
    : state_(std::make_unique<State>()) {
  state_->steps_per_epoch = sampler->steps_per_epoch();
  state_->ahead = std::max<int64_t>(ahead, 1);
  state_->sampler = std::move(sampler);
  State* state = state_.get();
  for (int64_t i = 0; i < threads; ++i) state->threads.emplace_back([state] { state->run(); });
}

Prefetcher::~Prefetcher() = default;

MessagePlan Prefetcher::take(int64_t epoch, int64_t index) {
  if (epoch < 0 || index < 0 || index >= steps_per_epoch()) {
    throw std::out_of_range(
        fmt::format("step {} of epoch {} was asked for; an epoch has {} steps", index, epoch, steps_per_epoch()));
  }
  if (state_->threads.empty()) return state_->sampler->draw(epoch, index);
  return state_->take(epoch * steps_per_epoch() + index);
}

int64_t Prefetcher::steps_per_epoch() const { return state_->steps_per_epoch; }

}  // namespace l0gm
