#include "data/made/products_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <span>

#include "base/csv.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/text.h"
#include "base/threads.h"
#include "l0gm/error.h"

namespace l0gm {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t draw_node = 1, draw_similar = 47;
constexpr int64_t fewest_nodes = 100, most_nodes = 1'000'000'000;
constexpr double early_mismatch = 0.085, test_mismatch = 0.09, test_mismatch_growth = 0.06;
// A class is late if it has fewer early nodes per test node than this (the mean is .107).
constexpr double late_class_ratio = 0.03, late_class_mismatch = 0.7;
constexpr int similar_count = 3;  // classes that the nodes of a class may be mistaken for

using ClassCounts = std::array<int32_t, products_classes>;
constexpr std::array<ClassCounts, 3> class_counts = {
    // train, valid, test
    ClassCounts{11332, 12290, 10941, 13153, 60630, 3932, 15305, 16615, 10926, 6266, 4311, 3348, 2755, 10757, 287, 2515,
                461,   4245,  662,   1237,  2047,  1313, 64,    526,   200,   93,   75,   4,    84,   152,   9,   25,
                33,    3,     2,     8,     2,     3,    1,     1,     1,     1,    0,    0,    0,    0,     0},
    ClassCounts{2292, 2306, 2232, 2653, 12125, 798, 3110, 3382, 2191, 1240, 869, 656, 499, 2090, 58, 525,
                114,  865,  129,  244,  438,   246, 13,   80,   59,   19,   6,   1,   20,  36,   11, 5,
                10,   1,    0,    0,    0,     0,   0,    0,    0,    0,    0,   0,   0,   0,    0},
    ClassCounts{100670, 95236, 102870, 135255, 596195, 35985, 140356, 152202, 97679, 59852, 47165, 28933,
                128632, 88694, 2734,   23871,  83019,  37227, 48228,  15957,  20090, 79236, 802,   3047,
                45147,  2912,  472,    254,    1865,   1373,  257,    388,    470,   25,    152,   36,
                628,    511,   90,     36,     5,      60,    32500,  1399,   566,   9,     1}};

int32_t draw_from(const ClassCounts& counts, RandomStream& random) {
  auto left =
      static_cast<int64_t>(random.below(static_cast<uint64_t>(std::accumulate(counts.begin(), counts.end(), int64_t{0}))));
  int32_t found = 0;
  while ((left -= counts[static_cast<size_t>(found)]) >= 0) ++found;
  return found;
}

// Parts of the real nodes, and their labels where the files exist.
struct RealNodes {
  std::vector<int32_t> labels;  // empty: unknown
  std::vector<uint8_t> parts;   // 0 train, 1 valid, 2 test
};

fs::path file_below(const fs::path& folder, const std::string& name) {
  for (const std::string& spelling : {name + ".gz", name}) {
    if (std::error_code ignored; fs::is_regular_file(folder / spelling, ignored)) return folder / spelling;
  }
  throw UserError(fmt::format(
      "{} has no file {}.gz. A folder of ogbn-products with labels and split is wanted; without one, labels are drawn.",
      folder.string(), name));
}

std::vector<int32_t> read_numbers(const fs::path& path, int64_t below, Graph& graph) {
  CsvReader reader(path, {.header = false, .names = {"number"}});
  std::vector<int32_t> numbers;
  std::vector<std::string_view> cells;
  while (reader.next(cells)) {
    const auto number = parse_integer(cells[0]);
    if (!number || *number < 0 || *number >= below) {
      throw UserError(fmt::format("{}, line {}: found '{}', wanted a whole number from 0 to {}. Get the file again.",
                                  path.string(), reader.line(), cells[0], below - 1));
    }
    numbers.push_back(static_cast<int32_t>(*number));
  }
  graph.files.push_back({path, sha256_file(path)});
  return numbers;
}

RealNodes real_nodes(const std::string& folder, Graph& graph) {
  RealNodes nodes;
  nodes.parts.assign(products_nodes, 2);
  if (folder.empty()) {
    std::fill_n(nodes.parts.begin(), products_valid_end, uint8_t{1});
    std::fill_n(nodes.parts.begin(), products_train_end, uint8_t{0});
    return nodes;
  }
  const fs::path labels = file_below(folder, "raw/node-label.csv");
  nodes.labels = read_numbers(labels, products_classes, graph);
  if (static_cast<int64_t>(nodes.labels.size()) != products_nodes) {
    throw UserError(fmt::format("{} has {} labels; ogbn-products has {} nodes. Get the file again.", labels.string(),
                                with_thousands(static_cast<int64_t>(nodes.labels.size())), with_thousands(products_nodes)));
  }
  for (const uint8_t part : {uint8_t{1}, uint8_t{0}}) {
    const fs::path split = file_below(folder, fmt::format("split/sales_ranking/{}.csv", part == 0 ? "train" : "valid"));
    for (const int32_t node : read_numbers(split, products_nodes, graph)) nodes.parts[static_cast<size_t>(node)] = part;
  }
  return nodes;
}

using SimilarClasses = std::array<std::array<int32_t, similar_count>, products_classes>;

// Classes that each class may be mistaken for, large ones with higher probability. The same for every seed.
SimilarClasses draw_similar_classes() {
  SimilarClasses similar{};
  for (size_t label = 0; label < similar.size(); ++label) {
    RandomStream random(draw_similar, label);
    for (int32_t& other : similar[label]) {
      do other = draw_from(class_counts[0], random);
      while (other == static_cast<int32_t>(label));
    }
  }
  return similar;
}

// Share of the nodes whose apparent class is not their label. It grows with the rank, and is large in classes with few early
// nodes: both make test nodes hard.
double mismatch_share(int32_t label, double rank) {
  const auto c = static_cast<size_t>(label);
  const double early = class_counts[0][c] + class_counts[1][c], late = class_counts[2][c];
  if (early < late_class_ratio * late) return late_class_mismatch;
  return rank < products_early ? early_mismatch : test_mismatch + test_mismatch_growth * (rank - products_early);
}

void assign_parts(const RealNodes& real, double scale, int64_t count, Graph& graph, std::vector<uint8_t>& part,
                  std::vector<int64_t>& original) {
  part.resize(static_cast<size_t>(count));
  original.resize(part.size());
  for (int64_t node = 0; node < count; ++node) {
    const auto place = static_cast<int64_t>((static_cast<double>(node) + 0.5) / scale);
    const auto i = static_cast<size_t>(node);
    original[i] = std::min(place, products_nodes - 1);
    part[i] = real.parts[static_cast<size_t>(original[i])];
    (part[i] == 0 ? graph.train : part[i] == 1 ? graph.valid : graph.test).push_back(node);
  }
}

}  // namespace

ProductsNodes make_products_nodes(double scale, uint64_t seed, const std::string& folder, Graph& graph) {
  const double wanted = std::round(scale * static_cast<double>(products_nodes));
  if (!(wanted >= static_cast<double>(fewest_nodes) && wanted <= static_cast<double>(most_nodes))) {
    throw UserError(fmt::format("products-like at scale {} has {:.0f} nodes; from {} to {} are possible. Choose another scale.",
                                shortest(scale), wanted, with_thousands(fewest_nodes), with_thousands(most_nodes)));
  }
  graph.nodes = static_cast<int64_t>(wanted);
  const RealNodes real = real_nodes(folder, graph);
  std::vector<uint8_t> part;
  std::vector<int64_t> original;
  assign_parts(real, scale, graph.nodes, graph, part, original);

  ProductsNodes made;
  made.labels.resize(part.size());
  made.apparent.resize(part.size());
  const SimilarClasses similar = draw_similar_classes();
  parallel_for(graph.nodes, 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t node = begin; node < end; ++node) {
      const auto i = static_cast<size_t>(node);
      RandomStream random(mix_key(seed, draw_node, i));
      const int32_t drawn = draw_from(class_counts[part[i]], random);
      const int32_t label = real.labels.empty() ? drawn : real.labels[static_cast<size_t>(original[i])];
      made.labels[i] = label;
      const bool mismatch = random.uniform() < mismatch_share(label, made.rank(node));
      made.apparent[i] = mismatch ? similar[static_cast<size_t>(label)][random.below(similar_count)] : label;
    }
  });
  graph.labels = made.labels;
  for (int32_t label = 0; label < products_classes; ++label) graph.classes.push_back(std::to_string(label));
  return made;
}

}  // namespace l0gm
