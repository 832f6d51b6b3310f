// Sums of neighbours' rows and dot products with them, for the instruction set that Highway is compiling.
#if defined(L0GM_ENCODERS_ROW_KERNELS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef L0GM_ENCODERS_ROW_KERNELS_INL
#undef L0GM_ENCODERS_ROW_KERNELS_INL
#else
#define L0GM_ENCODERS_ROW_KERNELS_INL
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "encoders/graph/row_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace l0gm::graph_kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
constexpr int64_t lanes = hn::MaxLanes(Tag<T>());

constexpr int64_t most_edges = 64;  // of a segment
// Of neighbours' rows: two segments share the first cache, one being read, one being fetched.
constexpr int64_t segment_bytes = 16 << 10;
constexpr int64_t cache_line = 64;  // bytes

// A few edges of one row, of one head.
template <class T>
struct Segment {
  const T* rows[most_edges];
  T factors[most_edges];
  int64_t edges, width;
  bool first, last;  // of the row's segments
  T target, self;    // used in the last
  const T* own;      // null: no such term
  T* out;
};

template <class T>
int64_t edges_of_segment(int64_t row_numbers) {
  return std::clamp<int64_t>(segment_bytes / std::max<int64_t>(1, row_numbers * static_cast<int64_t>(sizeof(T))), 4, most_edges);
}

// Neighbours are anywhere in memory: the rows of the next edges are prefetched while these are added up.
template <class T>
class Prefetcher {
 public:
  Prefetcher(const int32_t* neighbours, int64_t last, const T* x, int64_t row_numbers, int64_t edges)
      : neighbours_(neighbours),
        last_(last),
        x_(reinterpret_cast<const char*>(x)),
        bytes_(row_numbers * static_cast<int64_t>(sizeof(T))),
        edges_(edges) {}

  HWY_INLINE void fetch(int64_t from) {
    const int64_t to = std::min(last_, from + edges_);
    for (fetched_ = std::max(fetched_, from); fetched_ < to; ++fetched_) {
      const char* row = x_ + neighbours_[fetched_] * bytes_;
      for (int64_t byte = 0; byte < bytes_; byte += cache_line) __builtin_prefetch(row + byte);
    }
  }

 private:
  const int32_t* neighbours_;
  int64_t last_;
  const char* x_;
  int64_t bytes_, edges_, fetched_ = 0;
};

// `count` vectors of channels from `column` on, in registers. The last vector may overlap the one before it, so that no width
// needs a scalar remainder.
template <class T, int count>
HWY_NOINLINE void add_tile(const Segment<T>& segment, int64_t column) {
  const Tag<T> tag;
  const int64_t last = std::min(column + (count - 1) * lanes<T>, segment.width - lanes<T>) - column;
  const auto place = [last](int i) HWY_ATTR { return i == count - 1 ? last : i * lanes<T>; };
  hn::Vec<Tag<T>> sum[count];
  T* out = segment.out + column;
  for (int i = 0; i < count; ++i) sum[i] = segment.first ? hn::Zero(tag) : hn::LoadU(tag, out + place(i));
  for (int64_t e = 0; e < segment.edges; ++e) {
    const T* row = segment.rows[e] + column;
    const auto factor = hn::Set(tag, segment.factors[e]);
    for (int i = 0; i < count; ++i) sum[i] = hn::MulAdd(factor, hn::LoadU(tag, row + place(i)), sum[i]);
  }
  if (segment.last) {
    const auto target = hn::Set(tag, segment.target);
    for (int i = 0; i < count; ++i) sum[i] = hn::Mul(target, sum[i]);
    if (segment.own != nullptr) {
      const auto self = hn::Set(tag, segment.self);
      for (int i = 0; i < count; ++i) sum[i] = hn::MulAdd(self, hn::LoadU(tag, segment.own + column + place(i)), sum[i]);
    }
  }
  for (int i = 0; i < count; ++i) hn::StoreU(sum[i], tag, out + place(i));
}

// Rows that are narrower than a vector.
template <class T>
void add_narrow(const Segment<T>& segment) {
  for (int64_t j = 0; j < segment.width; ++j) {
    T sum = segment.first ? T(0) : segment.out[j];
    for (int64_t e = 0; e < segment.edges; ++e) sum += segment.factors[e] * segment.rows[e][j];
    if (segment.last) sum *= segment.target;
    if (segment.last && segment.own != nullptr) sum += segment.self * segment.own[j];
    segment.out[j] = sum;
  }
}

template <class T>
void add_segment(const Segment<T>& segment) {
  constexpr int64_t most = 8;
  if (segment.width < lanes<T>) return add_narrow(segment);
  int64_t column = 0;
  for (int64_t left = (segment.width + lanes<T> - 1) / lanes<T>; left > 0;) {
    // Two overlapping vectors must be in one tile: a second tile would add to sums that the first has already stored.
    const int64_t count = left > most ? (left == most + 1 ? most - 1 : most) : left;
    switch (count) {
      case 1:
        add_tile<T, 1>(segment, column);
        break;
      case 2:
        add_tile<T, 2>(segment, column);
        break;
      case 3:
        add_tile<T, 3>(segment, column);
        break;
      case 4:
        add_tile<T, 4>(segment, column);
        break;
      case 5:
        add_tile<T, 5>(segment, column);
        break;
      case 6:
        add_tile<T, 6>(segment, column);
        break;
      case 7:
        add_tile<T, 7>(segment, column);
        break;
      default:
        add_tile<T, 8>(segment, column);
        break;
    }
    left -= count;
    column += count * lanes<T>;
  }
}

// The addresses of the rows of a segment's neighbours, and their factors.
template <class T>
HWY_INLINE void look_up(const RowSums<T>& sums, int64_t begin, int64_t head, Segment<T>& segment) {
  const int64_t stride = sums.heads * sums.width;
  const T* x = sums.x + head * sums.width;
  for (int64_t e = 0; e < segment.edges; ++e) {
    const int64_t edge = begin + e, source = sums.neighbours[edge];
    segment.rows[e] = x + source * stride;
    T factor =
        sums.weights == nullptr ? T(1) : sums.weights[(sums.places == nullptr ? edge : sums.places[edge]) * sums.heads + head];
    if (sums.source != nullptr) factor *= sums.source[source];
    segment.factors[e] = factor;
  }
}

template <class T>
void sum(const RowSums<T>& sums, int64_t begin, int64_t end) {
  const int64_t stride = sums.heads * sums.width, step = edges_of_segment<T>(stride);
  Prefetcher<T> prefetcher(sums.neighbours, sums.offsets[end], sums.x, stride, step);
  Segment<T> segment;
  segment.width = sums.width;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t row_begin = sums.offsets[row], row_end = sums.offsets[row + 1];
    const bool has_self = sums.self != nullptr && row < sums.self_rows;
    const int64_t own = sums.own == nullptr ? row : (has_self ? sums.own[row] : 0);
    segment.target = sums.target == nullptr ? T(1) : sums.target[row];
    int64_t edge = row_begin;
    do {
      segment.edges = std::min(step, row_end - edge);
      segment.first = edge == row_begin;
      segment.last = edge + segment.edges == row_end;
      prefetcher.fetch(edge + segment.edges);
      for (int64_t head = 0; head < sums.heads; ++head) {
        look_up(sums, edge, head, segment);
        segment.self = has_self ? sums.self[row * sums.heads + head] : T(0);
        segment.own = has_self ? sums.x + own * stride + head * sums.width : nullptr;
        segment.out = sums.y + row * stride + head * sums.width;
        add_segment(segment);
      }
      edge += segment.edges;
    } while (edge < row_end);
  }
}

template <class T>
HWY_INLINE T dot_product(const T* a, const T* b, int64_t width) {
  const Tag<T> tag;
  auto even = hn::Zero(tag), odd = even;  // two independent chains: half the latency
  int64_t j = 0;
  for (; j + 2 * lanes<T> <= width; j += 2 * lanes<T>) {
    even = hn::MulAdd(hn::LoadU(tag, a + j), hn::LoadU(tag, b + j), even);
    odd = hn::MulAdd(hn::LoadU(tag, a + j + lanes<T>), hn::LoadU(tag, b + j + lanes<T>), odd);
  }
  if (j + lanes<T> <= width) {
    even = hn::MulAdd(hn::LoadU(tag, a + j), hn::LoadU(tag, b + j), even);
    j += lanes<T>;
  }
  T rest = hn::GetLane(hn::SumOfLanes(tag, hn::Add(even, odd)));
  for (; j < width; ++j) rest += a[j] * b[j];
  return rest;
}

template <class T>
void dot(const RowDots<T>& dots, int64_t begin, int64_t end) {
  const int64_t stride = dots.heads * dots.width, step = edges_of_segment<T>(stride);
  Prefetcher<T> prefetcher(dots.neighbours, dots.offsets[end], dots.x, stride, step);
  for (int64_t row = begin; row < end; ++row) {
    const T* a = dots.a + row * stride;
    for (int64_t edge = dots.offsets[row]; edge < dots.offsets[row + 1]; ++edge) {
      prefetcher.fetch(edge + 1);
      const T* x = dots.x + dots.neighbours[edge] * stride;
      for (int64_t head = 0; head < dots.heads; ++head) {
        dots.dots[edge * dots.heads + head] = dot_product(a + head * dots.width, x + head * dots.width, dots.width);
      }
    }
  }
}

// Source numbers have four bytes, as floats have, so vectors of both line up; doubles are handled one by one.
template <class T>
void take_larger(const LargerRow<T>& row) {
  int64_t j = 0;
  if constexpr (sizeof(T) == sizeof(int32_t)) {
    const Tag<T> tag;
    const Tag<int32_t> numbers;
    for (; j + lanes<T> <= row.width; j += lanes<T>) {
      const auto candidate = hn::LoadU(tag, row.candidate + j), best = hn::LoadU(tag, row.best + j);
      const auto larger = hn::Or(hn::Gt(candidate, best), hn::Not(hn::Eq(candidate, candidate)));
      hn::StoreU(hn::IfThenElse(larger, candidate, best), tag, row.best + j);
      const auto from =
          hn::IfThenElse(hn::RebindMask(numbers, larger), hn::Set(numbers, row.source), hn::LoadU(numbers, row.from + j));
      hn::StoreU(from, numbers, row.from + j);
    }
  }
  for (; j < row.width; ++j) {
    if (!(row.candidate[j] > row.best[j]) && row.candidate[j] == row.candidate[j]) continue;
    row.best[j] = row.candidate[j];
    row.from[j] = row.source;
  }
}

template <class T>
void add_taken(const TakenRow<T>& row) {
  int64_t j = 0;
  if constexpr (sizeof(T) == sizeof(int32_t)) {
    const Tag<T> tag;
    const Tag<int32_t> numbers;
    for (; j + lanes<T> <= row.width; j += lanes<T>) {
      const auto taken = hn::RebindMask(tag, hn::Eq(hn::LoadU(numbers, row.from + j), hn::Set(numbers, row.source)));
      const auto gradient = hn::IfThenElseZero(taken, hn::LoadU(tag, row.gradient + j));
      hn::StoreU(hn::Add(hn::LoadU(tag, row.sum + j), gradient), tag, row.sum + j);
    }
  }
  for (; j < row.width; ++j) {
    if (row.from[j] == row.source) row.sum[j] += row.gradient[j];
  }
}

}  // namespace l0gm::graph_kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
