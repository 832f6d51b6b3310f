// The gate's kernels on a GPU, forwards and backwards: checks them against a reference in float64 and times them beside a copy on
// the device. From the repository's root:
//   nvcc -O3 -std=c++20 -arch=sm_90 -I src bench/cuda/gate_speed.cu src/gate/cuda/gate_step.cu
//     src/gate/cuda/column_sums.cu -o gate_speed && ./gate_speed
// Exit code 1: a result is wrong, or differs from one run to the next.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "gate/cuda/gate_step.h"

namespace {

using namespace l0gm;

void check(cudaError_t error, const char* what, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(error));
  std::exit(2);
}
#define CHECK(call) check(call, #call, __LINE__)

template <class T>
T* on_device(size_t size) {
  T* data = nullptr;
  CHECK(cudaMalloc(&data, size * sizeof(T)));
  CHECK(cudaMemset(data, 0xFF, size * sizeof(T)));
  return data;
}

template <class T>
T* on_device(const std::vector<T>& values) {
  T* data = on_device<T>(values.size());
  CHECK(cudaMemcpy(data, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return data;
}

template <class T>
std::vector<T> on_host(const T* data, size_t size) {
  std::vector<T> values(size);
  CHECK(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

double median_milliseconds(const std::function<void()>& work) {
  constexpr int repeats = 15;
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < repeats + 3; ++i) {
    CHECK(cudaEventRecord(begin));
    work();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float time = 0;
    CHECK(cudaEventElapsedTime(&time, begin, end));
    if (i >= 3) times.push_back(time);
  }
  CHECK(cudaGetLastError());
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[repeats / 2];
}

struct Reference {
  double z, slope;
  double jump;  // of the slope where z is so near to 0 or 1 that rounding decides whether it is clipped
};

Reference reference(double logit, float u, const GateNumbers& n) {
  const double s = 1 / (1 + std::exp(-(logit + std::log(double{u} / (1 - double{u}))) * n.inverse_tau));
  const double stretch = double{n.zeta} - n.gamma, stretched = s * stretch + n.gamma;
  const double slope = stretch * n.inverse_tau * s * (1 - s);
  const bool edge = std::abs(stretched) < 1e-5 || std::abs(stretched - 1) < 1e-5;
  return {std::clamp(stretched, 0.0, 1.0), stretched >= 0 && stretched <= 1 ? slope : 0.0, edge ? slope : 0.0};
}

float uniform(uint64_t key, int64_t id, int64_t column) {
  const PhiloxWords words = philox_of_row(key, static_cast<uint64_t>(id), static_cast<uint32_t>(column / 4));
  const uint32_t bits[4] = {words.c0, words.c1, words.c2, words.c3};
  return uniform_of_bits(bits[column % 4]);
}

std::vector<float> numbers(size_t size, uint64_t seed) {
  std::vector<float> made(size);
  uint64_t state = seed;
  for (float& value : made) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    value = static_cast<float>(state >> 40) * 0x1p-22F - 2.0F;
  }
  return made;
}

bool failed = false;

void measure(int64_t rows, int64_t width, bool by_element) {
  const auto size = static_cast<size_t>(rows * width), units = by_element ? size : static_cast<size_t>(width);
  const std::vector<float> r = numbers(size, 1), logits = numbers(units, 2), dv = numbers(size, 3);
  std::vector<float> keep(units, 1.0F);
  for (size_t i = 0; i < units; i += 3) keep[i] = 0;
  std::vector<int64_t> ids(static_cast<size_t>(rows));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i * 7919 % 1000003);
  GateRows gate;
  gate.rows = rows, gate.width = width, gate.key = 0x1234567890ABCDEFULL, gate.by_element = by_element;
  gate.numbers = {1 / 0.7F, -0.1F, 1.1F};
  int64_t* device_ids = on_device(ids);
  float *device_r = on_device(r), *device_logits = on_device(logits), *device_keep = on_device(keep), *device_dv = on_device(dv);
  float *value = on_device<float>(size), *gates = on_device<float>(size), *of_r = on_device<float>(size),
        *of_logits = on_device<float>(units), *again = on_device<float>(units);
  gate.ids = device_ids, gate.r = device_r, gate.logits = device_logits, gate.keep = device_keep;
  float* partial = on_device<float>(static_cast<size_t>(cuda::gate_partial_sums(gate)) + 1);

  cuda::gate_forward(gate, value, gates, nullptr);
  cuda::gate_backward(gate, device_dv, nullptr, of_r, of_logits, partial, nullptr);
  cuda::gate_backward(gate, device_dv, nullptr, of_r, again, partial, nullptr);
  const auto host_value = on_host(value, size), host_gates = on_host(gates, size), host_of_r = on_host(of_r, size);
  const auto host_of_logits = on_host(of_logits, units), host_again = on_host(again, units);
  double worst = 0, worst_sum = 0, largest_sum = 0;
  std::vector<double> sums(units), slack(units);
  const int64_t step = std::max<int64_t>(1, rows * width >> 22);  // of large ones some columns
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < width; c += step) {
      const auto at = static_cast<size_t>(row * width + c), unit = by_element ? at : static_cast<size_t>(c);
      const Reference wanted = reference(logits[unit], uniform(gate.key.value, ids[static_cast<size_t>(row)], c), gate.numbers);
      const double z = wanted.z * keep[unit];
      const double error =
          std::abs(host_gates[at] - z) + std::abs(host_value[at] - z * r[at]) + std::abs(host_of_r[at] - z * dv[at]);
      if (!(error <= worst)) worst = error;
      sums[unit] += double{dv[at]} * r[at] * wanted.slope;
      slack[unit] += std::abs(double{dv[at]} * r[at] * wanted.jump);
    }
  }
  for (size_t i = 0; i < units; ++i) {
    if (static_cast<int64_t>(i) % width % step != 0) continue;
    const double error = std::abs(host_of_logits[i] - sums[i]) - slack[i];
    if (!(error <= worst_sum)) worst_sum = error;
    largest_sum = std::max(largest_sum, std::abs(sums[i]));
  }
  const bool right = worst < 5e-5 && worst_sum < 1e-4 * largest_sum && host_of_logits == host_again;
  failed = failed || !right;

  gate.keep = nullptr;
  const double bytes = static_cast<double>(size) * sizeof(float);
  const double copy =
      median_milliseconds([&] { CHECK(cudaMemcpyAsync(value, gate.r, size * sizeof(float), cudaMemcpyDeviceToDevice)); });
  const double forward = median_milliseconds([&] { cuda::gate_forward(gate, value, nullptr, nullptr); });
  const double with_gates = median_milliseconds([&] { cuda::gate_forward(gate, value, gates, nullptr); });
  const double backward =
      median_milliseconds([&] { cuda::gate_backward(gate, device_dv, nullptr, of_r, of_logits, partial, nullptr); });
  const double logits_bytes = by_element ? bytes : 0;
  const double rate = 2 * bytes / copy;
  std::printf(
      "%6lld x %4lld %-9s %s | copy %.4f ms (%.2f TB/s) | forward %.4f (%.0f %% of the copy's rate) with gates %.4f (%.0f %%) | "
      "backward %.4f (%.0f %%) | errors %.1e %.1e\n",
      static_cast<long long>(rows), static_cast<long long>(width), by_element ? "elements" : "units", right ? "right" : "WRONG",
      copy, rate * 1e-9, forward, (2 * bytes + logits_bytes) / forward / rate * 100, with_gates,
      (3 * bytes + logits_bytes) / with_gates / rate * 100, backward, (3 * bytes + 2 * logits_bytes) / backward / rate * 100,
      worst, worst_sum / largest_sum);
  for (void* memory :
       {static_cast<void*>(device_ids), static_cast<void*>(device_r), static_cast<void*>(device_logits),
        static_cast<void*>(device_keep), static_cast<void*>(device_dv), static_cast<void*>(value), static_cast<void*>(gates),
        static_cast<void*>(of_r), static_cast<void*>(of_logits), static_cast<void*>(again), static_cast<void*>(partial)})
    CHECK(cudaFree(memory));
}

}  // namespace

int main() {
  measure(4096, 208, false);
  measure(13752, 512, false);
  measure(1003, 37, false);
  measure(1003, 37, true);
  measure(65536, 1024, false);
  measure(16384, 1024, true);
  std::printf(failed ? "WRONG RESULTS\n" : "all results right\n");
  return failed ? 1 : 0;
}
