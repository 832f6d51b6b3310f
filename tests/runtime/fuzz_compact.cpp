// Gives damaged and forged compact files to the reader and hostile rows to every model it accepts. Anything but success or a
// UserError is a failure (a crash, another exception, a probability outside [0, 1]); run it under AddressSanitizer as well.
//   fuzz_compact COUNT SEED FILE     COUNT cases made from FILE
//   fuzz_compact --write FOLDER      the files of format version 1 that must stay readable, with their expected probabilities
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>

#include "base/files.h"
#include "l0gm/error.h"
#include "l0gm/runtime.h"
#include "runtime/forged_file.h"
#include "runtime/sample_model.h"
#include "runtime/text/onednn.h"
#include "runtime/text/reference_text.h"

namespace {

using namespace l0gm;
using namespace l0gm::testing_tools;
using nlohmann::json;

enum class Outcome { refused, served, not_finite };

bool reads_texts(const CompactModel& model) { return json::parse(model.manifest())["kind"] == "text"; }

// Rows of every kind of cell, in text and in numbers, one by one and together.
Outcome serve(const CompactModel& model) {
  static const std::vector<std::string> texts = {"",
                                                 "?",
                                                 "30",
                                                 "33.3",
                                                 "-1e308",
                                                 "1e999",
                                                 "nan",
                                                 "inf",
                                                 "a|b|c",
                                                 "red",
                                                 std::string(5000, '|'),
                                                 "\xff\xfe",
                                                 "0x10",
                                                 std::string("a\0b", 3)};
  static const double specials[] = {0,
                                    1,
                                    -1,
                                    2,
                                    2.5,
                                    1e9,
                                    -1e300,
                                    4294967298.0,
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    std::nan("")};
  const size_t columns = model.columns().size(), classes = model.classes().size();
  const size_t rows = 18;  // a block and a bit
  std::vector<std::string_view> cells;
  std::vector<double> numbers;
  for (size_t i = 0; i < rows * columns; ++i) {
    cells.push_back(texts[(i * 7 + i / columns) % texts.size()]);
    numbers.push_back(specials[(i * 5 + i / columns) % std::size(specials)]);
  }
  std::vector<float> probabilities(rows * classes);
  InputCounts counts = model.empty_counts();
  Outcome outcome = Outcome::served;
  for (const bool of_text : {true, false}) {
    if (!of_text && reads_texts(model)) continue;  // a text is no number, which is no fault of the file
    try {
      if (of_text) {
        model.predict(std::span<const std::string_view>(cells), probabilities, nullptr, &counts);
      } else {
        model.predict(std::span<const double>(numbers), probabilities, nullptr, &counts);
      }
    } catch (const UserError&) {
      outcome = Outcome::not_finite;
      continue;
    }
    for (const float p : probabilities) {
      if (!(p >= 0 && p <= 1)) throw std::logic_error("a probability lies outside [0, 1]");
    }
  }
  for (size_t c = 0; c < columns; ++c) {
    if (!model.is_numeric(c) && !reads_texts(model)) model.code(c, "red");
  }
  return outcome;
}

Outcome try_file(std::string bytes) {
  try {
    const CompactModel model = CompactModel::from_bytes(std::move(bytes), "forged.l0gm", {.threads = 1, .calibrated = true});
    return serve(model);
  } catch (const UserError&) {
    return Outcome::refused;
  }
}

#ifdef L0GM_FUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try_file(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
#else

// A random value somewhere in the JSON, by reference.
json& random_place(json& value, RandomStream& random) {
  json* place = &value;
  while (place->is_structured() && !place->empty() && (place == &value || random.below(6) != 0)) {
    auto inner = place->begin();
    std::advance(inner, static_cast<std::ptrdiff_t>(random.below(place->size())));
    place = &*inner;
  }
  return *place;
}

json random_number(RandomStream& random) {
  static const json values[] = {
      0,    1,       -1,        2,      3,       5,      64,       65536,   4294967296,          -2147483649,
      1e18, 1 << 20, 268435456, 1e-300, 1.5e308, -1e308, 16777217, 1048576, 9223372036854775807, 0.5};
  return values[random.below(std::size(values))];
}

void change_json(json& manifest, RandomStream& random) {
  json& place = random_place(manifest, random);
  switch (random.below(8)) {
    case 0:
      place = random_number(random);
      break;
    case 1:
      place = json::array({random_number(random), random_number(random)});
      break;
    case 2:
      place = std::string(random.below(40), 'x');
      break;
    case 3:
      place = nullptr;
      break;
    case 4:
      place = json::object();
      break;
    case 5:
      if (place.is_number_integer() && place < 1'000'000'000 && place > -1'000'000'000) {
        place = place.get<int64_t>() + static_cast<int64_t>(random.below(5)) - 2;
      } else if (place.is_boolean()) {
        place = !place.get<bool>();
      } else if (place.is_string()) {
        place = place.get<std::string>() + "|";
      }
      break;
    case 6:
      if (place.is_array() && !place.empty()) {
        if (random.below(2) == 0) {
          place.erase(random.below(place.size()));
        } else {
          place.push_back(place[random.below(place.size())]);
        }
      } else if (place.is_object()) {
        place["more"] = 1;
      }
      break;
    default: {
      const json other = random_place(manifest, random);  // a copy: one place may contain the other
      place = other;
    }
  }
}

// The tokenizer of a text model is JSON within the JSON, as a string.
void change_tokenizer(json& manifest, RandomStream& random) {
  json tokenizer = json::parse(manifest["tokenizer"].get<std::string>());
  change_json(tokenizer, random);
  manifest["tokenizer"] = tokenizer.dump();
}

void change_tensors(ForgedFile& file, RandomStream& random) {
  auto chosen = file.tensors.begin();
  std::advance(chosen, static_cast<std::ptrdiff_t>(random.below(file.tensors.size())));
  std::string& bytes = chosen->second;
  json shape = file.header[chosen->first]["shape"];
  switch (random.below(5)) {
    case 0:
      for (size_t i = 0; i < 8 && !bytes.empty(); ++i) bytes[random.below(bytes.size())] = static_cast<char>(random.below(256));
      break;
    case 1:
      if (!bytes.empty()) bytes[random.below(bytes.size())] = static_cast<char>(random.below(2) == 0 ? 0x7f : 0xff);
      break;
    case 2:
      if (!shape.empty() && shape[0] > 0) {  // one row less, bytes to match
        bytes.resize(bytes.size() - bytes.size() / shape[0].get<size_t>());
        shape[0] = shape[0].get<int64_t>() - 1;
        file.header[chosen->first]["shape"] = shape;
      }
      break;
    case 3:  // as many numbers in another shape
      std::reverse(shape.begin(), shape.end());
      file.header[chosen->first]["shape"] = shape;
      break;
    default:
      file.header[chosen->first]["dtype"] = random.below(2) == 0 ? "F32" : "I64";
  }
}

std::string changed_bytes(std::string bytes, RandomStream& random) {
  const size_t changes = 1 + random.below(4);
  for (size_t i = 0; i < changes && !bytes.empty(); ++i) {
    const size_t at = random.below(bytes.size());
    switch (random.below(5)) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.insert(at, std::string(1 + random.below(9), static_cast<char>(random.below(256))));
        break;
      case 2:
        bytes.erase(at, 1 + random.below(9));
        break;
      default:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
    }
  }
  return bytes;
}

// Half of the cases carry hashes that fit what was changed; of those of text models a quarter have another tokenizer.
std::string forged(const std::string& bytes, const ForgedFile& original, RandomStream& random) {
  const bool repaired = random.below(2) == 0;
  const uint64_t kind = random.below(4);
  if (kind == 0 && !repaired) return changed_bytes(bytes, random);
  ForgedFile file = original;
  const uint64_t changes = 1 + random.below(3);
  for (uint64_t i = 0; i < changes; ++i) {
    if (kind == 1) {
      change_tensors(file, random);
    } else if (kind == 0 && file.manifest.contains("tokenizer")) {
      change_tokenizer(file.manifest, random);
    } else {
      change_json(file.manifest, random);
    }
  }
  return file.bytes(repaired);
}

int fuzz(long count, uint64_t seed, const std::string& path) {
  const std::string bytes = read_file(path);
  const ForgedFile original(bytes);
  if (original.manifest["kind"] == "text" && !onednn::obstacle().empty()) {
    std::printf("skipped: %s\n", onednn::obstacle().c_str());
    return 77;
  }
  if (try_file(bytes) != Outcome::served || try_file(original.bytes()) != Outcome::served) {
    std::fprintf(stderr, "the file itself is not served\n");
    return 1;
  }
  long outcomes[3] = {0, 0, 0};
  for (long i = 0; i < count; ++i) {
    RandomStream random(seed, static_cast<uint64_t>(i));
    const std::string file = forged(bytes, original, random);
    try {
      ++outcomes[static_cast<size_t>(try_file(file))];
    } catch (const std::exception& error) {
      write_file_atomically("fuzz_compact_failure.l0gm", file);
      std::fprintf(stderr, "case %ld: %s (saved as fuzz_compact_failure.l0gm)\n", i, error.what());
      return 1;
    }
  }
  std::printf("%ld cases: %ld refused, %ld served, %ld without a finite probability\n", count, outcomes[0], outcomes[1],
              outcomes[2]);
  return 0;
}

void write_reference_text(const std::string& folder, const std::string& name, const SampleText& sample) {
  const TextHeader header = sample_text_header(sample);
  DrawnTensors tensors = drawn_tensors(header.net, sample.seed);
  write_sample_text(folder + "/" + name + ".l0gm", header, tensors);
  const ReferenceText reference(header, tensors);
  json expected = {{"texts", json::array()}, {"probabilities", json::array()}};
  for (const char* text : {"", "one two three", "eleven zebra of five six seven eight nine ten eleven twelve"}) {
    expected["texts"].push_back(text);
    expected["probabilities"].push_back(reference.probabilities(text));
  }
  write_file_atomically(folder + "/" + name + ".json", expected.dump(1) + "\n");
}

void write_reference_file(const std::string& folder, const std::string& name, const SampleOptions& options) {
  const std::string path = folder + "/" + name + ".l0gm";
  const CompactHeader header = sample_header(options);
  write_compact(path, header, sample_net(header.schema, options));
  const CompactFile file = read_compact(std::filesystem::path(path));
  const json expected = {{"rows", sample_rows()},
                         {"probabilities", reference_probabilities(file, sample_rows(), false)},
                         {"calibrated", reference_probabilities(file, sample_rows(), true)}};
  write_file_atomically(folder + "/" + name + ".json", expected.dump(1) + "\n");
}

#endif

}  // namespace

#ifndef L0GM_FUZZER
int main(int count, char** arguments) {
  try {
    if (count == 3 && std::string(arguments[1]) == "--write") {
      write_reference_file(arguments[2], "version1", full_sample());
      write_reference_file(arguments[2], "version1_batch", shared_sample());
      write_reference_file(arguments[2], "version1_int8", {.layers = {4}, .pairs = true, .weights = WeightType::int8});
      write_reference_file(arguments[2], "version1_trees", {.classes = 3, .trees = true});
      write_reference_file(arguments[2], "version1_tree_statistics", {.classes = 3, .tree_statistics = true});
      write_reference_text(arguments[2], "version1_text", small_text(WeightType::float32));
      write_reference_text(arguments[2], "version1_text_bfloat16", small_text(WeightType::bfloat16));
      write_reference_text(arguments[2], "version1_text_int8", small_text(WeightType::int8));
      write_reference_text(arguments[2], "version1_text_narrowed", small_narrowed_text());
      return 0;
    }
    if (count == 4) return fuzz(std::atol(arguments[1]), std::strtoull(arguments[2], nullptr, 10), arguments[3]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::fprintf(stderr, "usage: fuzz_compact COUNT SEED FILE, or fuzz_compact --write FOLDER\n");
  return 2;
}
#endif
