// Sums over neighbours on a GPU, one product after the other: checks them against a reference in float64 and times them, beside
// cuSPARSE where its header is found. Graphs are made, with the sizes and largest degrees of real ones. From the repository's
// root:
//   nvcc -O3 -std=c++20 -arch=sm_90 -I src bench/cuda/sum_rows_speed.cu src/encoders/graph/cuda/sum_rows.cu -o sum_rows_speed &&
//   ./sum_rows_speed [all.csv]
// Exit code 1: a result is wrong, or differs from one run to the next.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "batches/graph/row_plan.h"
#include "encoders/graph/cuda/sum_rows.h"
#if !defined(WITHOUT_CUSPARSE) && __has_include(<cusparse.h>)
#include <cusparse.h>
#define HAS_CUSPARSE 1
#endif

namespace {

using namespace l0gm;

void check(cudaError_t error, const char* what, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s: %s\n", line, what, cudaGetErrorString(error));
  std::exit(2);
}
#define CHECK(call) check(call, #call, __LINE__)

template <class T>
class OnDevice {
 public:
  explicit OnDevice(size_t size) : size_(size) { CHECK(cudaMalloc(&data_, std::max<size_t>(1, size) * sizeof(T))); }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) {
    CHECK(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  OnDevice(const OnDevice&) = delete;
  ~OnDevice() { cudaFree(data_); }
  T* get() const { return data_; }
  size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  size_t size_;
};

struct Graph {
  std::string name;
  int64_t nodes = 0;
  std::vector<int64_t> offsets;
  std::vector<int32_t> neighbours;
};

// Degrees fall by a power law from the largest one; both ends of an edge are drawn by them, and each edge exists in both
// directions.
Graph make_graph(const std::string& name, int64_t nodes, int64_t edges, double largest) {
  std::mt19937_64 random(7);
  constexpr double power = 0.6;
  double low = 1e-3, high = 1e9;  // which first place gives the largest degree
  std::vector<double> share(static_cast<size_t>(nodes));
  for (int i = 0; i < 60; ++i) {
    const double first = std::sqrt(low * high);
    double sum = 0;
    for (int64_t n = 0; n < nodes; ++n) sum += share[static_cast<size_t>(n)] = std::pow(static_cast<double>(n) + first, -power);
    (share[0] / sum * static_cast<double>(edges) > largest ? low : high) = first;
  }
  std::shuffle(share.begin(), share.end(), random);
  std::partial_sum(share.begin(), share.end(), share.begin());
  // A table of where to look saves most of each search.
  constexpr size_t cells = 1 << 18;
  std::vector<int32_t> guess(cells + 1);
  for (size_t c = 0, n = 0; c <= cells; ++c) {
    while (n + 1 < share.size() && share[n] < share.back() * static_cast<double>(c) / cells) ++n;
    guess[c] = static_cast<int32_t>(n);
  }
  const auto draw = [&] {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    auto n = static_cast<size_t>(guess[static_cast<size_t>(u * cells)]);
    while (share[n] <= u * share.back() && n + 1 < share.size()) ++n;
    return static_cast<int32_t>(n);
  };
  std::vector<std::pair<int32_t, int32_t>> pairs(static_cast<size_t>(edges / 2));
  Graph graph{name, nodes, std::vector<int64_t>(static_cast<size_t>(nodes) + 1), {}};
  for (auto& [a, b] : pairs) {
    a = draw(), b = draw();
    ++graph.offsets[static_cast<size_t>(a) + 1], ++graph.offsets[static_cast<size_t>(b) + 1];
  }
  std::partial_sum(graph.offsets.begin(), graph.offsets.end(), graph.offsets.begin());
  graph.neighbours.resize(2 * pairs.size());
  std::vector<int64_t> next(graph.offsets.begin(), graph.offsets.end() - 1);
  for (const auto& [a, b] : pairs) {
    graph.neighbours[static_cast<size_t>(next[static_cast<size_t>(a)]++)] = b;
    graph.neighbours[static_cast<size_t>(next[static_cast<size_t>(b)]++)] = a;
  }
  for (size_t n = 0; n < static_cast<size_t>(nodes); ++n)
    std::sort(graph.neighbours.begin() + graph.offsets[n], graph.neighbours.begin() + graph.offsets[n + 1]);
  return graph;
}

__global__ void count_differences(const uint32_t* a, const uint32_t* b, int64_t size, unsigned long long* different) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    if (a[i] != b[i] || (a[i] & 0x7F800000U) == 0x7F800000U) atomicAdd(different, 1ULL);  // not finite: not written, or wrong
  }
}

__global__ void fill(float* x, __nv_bfloat16* rounded, int64_t size) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < size;
       i += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    uint64_t h = (static_cast<uint64_t>(i) + 1) * 0x9E3779B97F4A7C15ULL;
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ULL;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBULL;
    x[i] = static_cast<float>(static_cast<uint32_t>(h >> 40)) * 0x1p-23F - 1.0F;
    rounded[i] = __float2bfloat16(x[i]);
  }
}

double median_milliseconds(const std::function<void()>& work, int repeats) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> times;
  for (int i = 0; i < repeats + 2; ++i) {
    CHECK(cudaEventRecord(begin));
    work();
    CHECK(cudaEventRecord(end));
    CHECK(cudaEventSynchronize(end));
    float time = 0;
    CHECK(cudaEventElapsedTime(&time, begin, end));
    if (i >= 2) times.push_back(time);
  }
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<size_t>(repeats / 2)];
}

// Some rows in float64: the longest ones, others of many lengths.
struct Reference {
  std::vector<int64_t> rows;
  std::vector<std::vector<double>> sums;
};

template <class Message>
Reference reference_of(const Graph& graph, int64_t width, const std::vector<Message>& x, const std::vector<float>& own,
                       const std::vector<float>& source, const std::vector<float>& target, const std::vector<float>& self) {
  Reference reference;
  std::vector<int64_t> order(static_cast<size_t>(graph.nodes));
  std::iota(order.begin(), order.end(), 0);
  const auto length = [&](int64_t r) {
    return graph.offsets[static_cast<size_t>(r) + 1] - graph.offsets[static_cast<size_t>(r)];
  };
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return length(a) > length(b); });
  for (size_t i = 0; i < order.size(); i = std::max(i + 1, i * 9 / 8)) reference.rows.push_back(order[i]);
  reference.rows.push_back(order.back());
  for (const int64_t row : reference.rows) {
    std::vector<double> sum(static_cast<size_t>(width));
    for (int64_t e = graph.offsets[static_cast<size_t>(row)]; e < graph.offsets[static_cast<size_t>(row) + 1]; ++e) {
      const int64_t u = graph.neighbours[static_cast<size_t>(e)];
      for (int64_t c = 0; c < width; ++c)
        sum[static_cast<size_t>(c)] += double{source[static_cast<size_t>(u)]} *
                                       static_cast<double>(static_cast<float>(x[static_cast<size_t>(u * width + c)]));
    }
    for (int64_t c = 0; c < width; ++c)
      sum[static_cast<size_t>(c)] = sum[static_cast<size_t>(c)] * target[static_cast<size_t>(row)] +
                                    double{self[static_cast<size_t>(row)]} * own[static_cast<size_t>(row * width + c)];
    reference.sums.push_back(std::move(sum));
  }
  return reference;
}

double relative_error(const Reference& reference, const OnDevice<float>& y, int64_t width) {
  double worst = 0;
  std::vector<float> row(static_cast<size_t>(width));
  for (size_t i = 0; i < reference.rows.size(); ++i) {
    CHECK(cudaMemcpy(row.data(), y.get() + reference.rows[i] * width, static_cast<size_t>(width) * sizeof(float),
                     cudaMemcpyDeviceToHost));
    double difference = 0, size = 0;
    for (size_t c = 0; c < row.size(); ++c) {
      difference += std::pow(row[c] - reference.sums[i][c], 2);
      size += std::pow(reference.sums[i][c], 2);
    }
    worst = std::max(worst, std::sqrt(difference / std::max(size, 1e-30)));
    if (!std::isfinite(difference)) return HUGE_VAL;
  }
  return worst;
}

// The plan on the device, for one length of segments.
struct Plan {
  Plan(const Graph& graph, int64_t longest)
      : host(plan_rows(graph.offsets.data(), graph.nodes, longest)),
        rows(host.rows),
        first(host.first_segment),
        row_of_segment(host.row_of_segment) {}
  cuda::DeviceRowPlan get() const {
    return {host.longest, host.cut_rows(), host.segments(), rows.get(), first.get(), row_of_segment.get()};
  }
  RowPlan host;
  OnDevice<int32_t> rows, first, row_of_segment;
};

#ifdef HAS_CUSPARSE
// The product alone: no self term, scales are in the values.
template <class Message>
class Cusparse {
 public:
  Cusparse(const Graph& graph, const OnDevice<int32_t>& neighbours, int64_t width, const Message* x, float* y)
      : offsets_(std::vector<int32_t>(graph.offsets.begin(), graph.offsets.end())), values_(graph.neighbours.size()) {
    constexpr auto type = sizeof(Message) == 4 ? CUDA_R_32F : CUDA_R_16BF;
    const std::vector<Message> ones(graph.neighbours.size(), static_cast<Message>(1.0F));
    CHECK(cudaMemcpy(values_.get(), ones.data(), ones.size() * sizeof(Message), cudaMemcpyHostToDevice));
    ok_ = cusparseCreate(&handle_) == CUSPARSE_STATUS_SUCCESS;
    ok_ = ok_ && cusparseCreateCsr(&a_, graph.nodes, graph.nodes, static_cast<int64_t>(ones.size()), offsets_.get(),
                                   neighbours.get(), values_.get(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                   CUSPARSE_INDEX_BASE_ZERO, type) == CUSPARSE_STATUS_SUCCESS;
    ok_ = ok_ && cusparseCreateDnMat(&b_, graph.nodes, width, width, const_cast<Message*>(x), type, CUSPARSE_ORDER_ROW) ==
                     CUSPARSE_STATUS_SUCCESS;
    ok_ =
        ok_ && cusparseCreateDnMat(&c_, graph.nodes, width, width, y, CUDA_R_32F, CUSPARSE_ORDER_ROW) == CUSPARSE_STATUS_SUCCESS;
  }
  double milliseconds(cusparseSpMMAlg_t algorithm, int repeats) {
    const float one = 1, zero = 0;
    size_t bytes = 0;
    constexpr auto as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
    if (!ok_ || cusparseSpMM_bufferSize(handle_, as_is, as_is, &one, a_, b_, &zero, c_, CUDA_R_32F, algorithm, &bytes) !=
                    CUSPARSE_STATUS_SUCCESS)
      return HUGE_VAL;
    const OnDevice<char> buffer(bytes + 1);
    cusparseSpMM_preprocess(handle_, as_is, as_is, &one, a_, b_, &zero, c_, CUDA_R_32F, algorithm, buffer.get());
    bool fine = true;
    const double time = median_milliseconds(
        [&] {
          fine = fine && cusparseSpMM(handle_, as_is, as_is, &one, a_, b_, &zero, c_, CUDA_R_32F, algorithm, buffer.get()) ==
                             CUSPARSE_STATUS_SUCCESS;
        },
        repeats);
    return fine ? time : HUGE_VAL;
  }
  ~Cusparse() {
    if (a_) cusparseDestroySpMat(a_);
    if (b_) cusparseDestroyDnMat(b_);
    if (c_) cusparseDestroyDnMat(c_);
    if (handle_) cusparseDestroy(handle_);
  }

 private:
  OnDevice<int32_t> offsets_;
  OnDevice<Message> values_;
  bool ok_ = false;
  cusparseHandle_t handle_ = nullptr;
  cusparseSpMatDescr_t a_ = nullptr;
  cusparseDnMatDescr_t b_ = nullptr, c_ = nullptr;
};
#endif

struct Inputs {
  OnDevice<int64_t> offsets;
  OnDevice<int32_t> neighbours;
  OnDevice<float> source, target, self;
  std::vector<float> host_source, host_target, host_self;
};

struct Best {
  double time = HUGE_VAL;
  std::string name = "-";
  void take(double other, const std::string& label) {
    if (other < time) time = other, name = label;
  }
};

std::FILE* every_time = nullptr;  // every time that was measured
bool failed = false;

void write(const Graph& graph, const char* type, int64_t width, const std::string& name, double time) {
  if (every_time)
    std::fprintf(every_time, "%s,%s,%lld,%s,%.4f\n", graph.name.c_str(), type, static_cast<long long>(width), name.c_str(), time);
}

template <class Message>
void measure(const Graph& graph, const Inputs& in, const std::vector<Plan*>& plans, int64_t width, const OnDevice<float>& own,
             const OnDevice<Message>& x, const OnDevice<float>& y, const OnDevice<float>& again, const OnDevice<float>& partial) {
  const char* type = sizeof(Message) == 4 ? "float32" : "bfloat16";
  const size_t size = static_cast<size_t>(graph.nodes * width);
  cuda::DeviceRowSums<Message> sums;
  sums.offsets = in.offsets.get(), sums.neighbours = in.neighbours.get();
  sums.source = in.source.get(), sums.target = in.target.get(), sums.self = in.self.get();
  sums.self_rows = sums.rows = graph.nodes, sums.width = width;
  sums.x = x.get(), sums.own_x = own.get(), sums.y = y.get();
  std::vector<Message> host(size);
  std::vector<float> host_own(size);
  CHECK(cudaMemcpy(host.data(), x.get(), size * sizeof(Message), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(host_own.data(), own.get(), size * sizeof(float), cudaMemcpyDeviceToHost));
  const Reference reference = reference_of<Message>(graph, width, host, host_own, in.host_source, in.host_target, in.host_self);
  const OnDevice<unsigned long long> different(1);

  // Twice into memory that holds no numbers: all of it must be written, right, and the same.
  const auto verify = [&](const std::string& name, const std::function<void(float*)>& work) {
    CHECK(cudaMemset(y.get(), 0xFF, size * sizeof(float)));
    CHECK(cudaMemset(again.get(), 0xFF, size * sizeof(float)));
    CHECK(cudaMemset(different.get(), 0, sizeof(unsigned long long)));
    work(again.get());
    work(y.get());
    count_differences<<<1024, 256>>>(reinterpret_cast<uint32_t*>(y.get()), reinterpret_cast<uint32_t*>(again.get()),
                                     static_cast<int64_t>(size), different.get());
    CHECK(cudaGetLastError());
    unsigned long long count = 0;
    CHECK(cudaMemcpy(&count, different.get(), sizeof(count), cudaMemcpyDeviceToHost));
    const double error = relative_error(reference, y, width);
    if (count == 0 && error < 2e-5) return;
    failed = true;
    std::printf("WRONG: %s %s %lld %s: relative error %.2e, %llu numbers differ or are not finite\n", graph.name.c_str(), type,
                static_cast<long long>(width), name.c_str(), error, count);
  };
  constexpr int repeats = 9;
  const auto today = [&](float* to) {
    sums.y = to;
    cuda::sum_rows(sums, {}, {}, nullptr, nullptr);
  };
  verify("one row a group", today);
  const double before = median_milliseconds([&] { today(y.get()); }, repeats);
  write(graph, type, width, "one row a group", before);
  Best ours, theirs;
  double usual = 0;
  for (const Plan* plan : plans) {
    for (const int channels : {64, 128, 256}) {
      if (channels > 64 && channels / 2 >= width) continue;
      for (const int neighbours : {4, 8}) {
        const auto planned = [&](float* to) {
          sums.y = to;
          cuda::sum_rows(sums, plan->get(), {channels, neighbours}, partial.get(), nullptr);
        };
        const std::string name =
            std::to_string(plan->host.longest) + "/" + std::to_string(channels) + "/" + std::to_string(neighbours);
        verify(name, planned);
        const double time = median_milliseconds([&] { planned(y.get()); }, repeats);
        CHECK(cudaGetLastError());
        write(graph, type, width, name, time);
        ours.take(time, name);
        if (plan->host.longest == 128 && channels == std::min<int64_t>(width, 128) && neighbours == 4) usual = time;
      }
    }
  }
  // What the factors of sources cost: gathered like rows, four bytes each.
  sums.source = nullptr, sums.y = y.get();
  write(graph, type, width, "128/128/4 without factors",
        median_milliseconds([&] { cuda::sum_rows(sums, plans[1]->get(), {128, 4}, partial.get(), nullptr); }, repeats));
#ifdef HAS_CUSPARSE
  Cusparse<Message> cusparse(graph, in.neighbours, width, x.get(), y.get());
  for (const auto& [algorithm, name] : {std::pair{CUSPARSE_SPMM_CSR_ALG1, "alg1"}, std::pair{CUSPARSE_SPMM_CSR_ALG2, "alg2"},
                                        std::pair{CUSPARSE_SPMM_CSR_ALG3, "alg3"}}) {
    const double time = cusparse.milliseconds(algorithm, repeats);
    write(graph, type, width, std::string("cusparse ") + name, time);
    theirs.take(time, name);
  }
#endif
  const double bytes = static_cast<double>(graph.neighbours.size()) * static_cast<double>(width) * sizeof(Message);
  std::printf("%-9s %-8s %4lld | %7.3f | %7.3f %7.3f %-9s %5.2f TB/s | %7.3f %-4s | %5.2f %5.2f\n", graph.name.c_str(), type,
              static_cast<long long>(width), before, usual, ours.time, ours.name.c_str(), bytes / ours.time * 1e-9, theirs.time,
              theirs.name.c_str(), ours.time / before, ours.time / theirs.time);
  std::fflush(stdout);
}

void measure(const Graph& graph) {
  std::mt19937_64 random(3);
  const auto numbers = [&](float low) {
    std::vector<float> made(static_cast<size_t>(graph.nodes));
    for (float& value : made) value = low + static_cast<float>(random() >> 40) * 0x1p-24F;
    return made;
  };
  const std::vector<float> source = numbers(0.5F), target = numbers(0.5F), self = numbers(-0.5F);
  const Inputs in{OnDevice(graph.offsets),
                  OnDevice(graph.neighbours),
                  OnDevice(source),
                  OnDevice(target),
                  OnDevice(self),
                  source,
                  target,
                  self};
  Plan fine(graph, 64), middle(graph, 128), coarse(graph, 256);
  int64_t largest = 0;
  for (size_t n = 0; n < static_cast<size_t>(graph.nodes); ++n)
    largest = std::max(largest, graph.offsets[n + 1] - graph.offsets[n]);
  std::printf("# %s: %lld nodes, %zu edges, largest degree %lld, %lld rows longer than 128\n", graph.name.c_str(),
              static_cast<long long>(graph.nodes), graph.neighbours.size(), static_cast<long long>(largest),
              static_cast<long long>(middle.host.cut_rows()));
  for (const int64_t width : {64, 128, 256, 512}) {
    const auto size = static_cast<size_t>(graph.nodes * width);
    const OnDevice<float> x(size), y(size), again(size), partial(static_cast<size_t>(fine.host.segments() * width));
    const OnDevice<__nv_bfloat16> rounded(size);
    fill<<<1024, 256>>>(x.get(), rounded.get(), static_cast<int64_t>(size));
    CHECK(cudaGetLastError());
    measure<float>(graph, in, {&fine, &middle, &coarse}, width, x, x, y, again, partial);
    measure<__nv_bfloat16>(graph, in, {&fine, &middle, &coarse}, width, x, rounded, y, again, partial);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) every_time = std::fopen(arguments[1], "w");
  std::printf("milliseconds a product (median of 9), ours with scales and self term, cuSPARSE's without\n");
  std::printf(
      "graph     messages width | today | planned: usual, best (segment/channels/neighbours) | cuSPARSE | ours/today, "
      "ours/cuSPARSE\n");
  measure(make_graph("computers", 13752, 491722, 2992));
  measure(make_graph("cs", 18333, 163788, 136));
  measure(make_graph("arxiv", 169343, 2315598, 13161));
  measure(make_graph("products", 250000, 12000000, 17000));
  if (every_time) std::fclose(every_time);
  std::printf(failed ? "WRONG RESULTS\n" : "all results right\n");
  return failed ? 1 : 0;
}
