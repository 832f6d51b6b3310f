#include "data/made/planted_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/progress.h"
#include "base/random.h"
#include "data/made/made_table.h"

namespace l0gm {
namespace {

constexpr int modifiers_a_kind = 3, keywords_a_kind = 6, decoys_a_kind = 4, filler_count = 500;
constexpr int least_words = 20, most_words = 120, least_pairs = 1, most_pairs = 3, decoys_a_text = 2;
constexpr double negated_share = 0.25, decoy_correlation = 0.5, decoy_share = 0.5, bare_share = 0.5, filler_exponent = 1.1;
constexpr double scale = 0.5;  // tuned so that the Bayes AUC is .95
constexpr uint64_t draw_texts = 0x74657874;

// Two syllables: 6,400 different words, and neighbours in number do not look alike.
std::string made_word(int number) {
  constexpr std::string_view consonants = "bcdfghjklmnprstv", vowels = "aeiou";
  const int syllables = static_cast<int>(consonants.size() * vowels.size());
  const int mixed = (number * 4231 + 1789) % (syllables * syllables);  // a permutation: 4231 is coprime to 6400
  std::string word;
  for (const int syllable : {mixed / syllables, mixed % syllables}) {
    word += consonants[static_cast<size_t>(syllable) / vowels.size()];
    word += vowels[static_cast<size_t>(syllable) % vowels.size()];
  }
  return word;
}

PlantedWords make_words() {
  PlantedWords words;
  int next = 0;
  const auto fill = [&](std::vector<std::string>& list, int count) {
    for (int i = 0; i < count; ++i) list.push_back(made_word(next++));
  };
  for (auto* list : {&words.affirming, &words.negating}) fill(*list, modifiers_a_kind);
  for (auto* list : {&words.positive, &words.negative}) fill(*list, keywords_a_kind);
  for (auto* list : {&words.yes_decoys, &words.no_decoys}) fill(*list, decoys_a_kind);
  fill(words.filler, filler_count);
  return words;
}

// Of the keyword with this number among those of its polarity. Whole numbers: sums are exact in any order.
int strength_of(size_t number) { return std::array{3, 5, 7}[number % 3]; }

const std::string& any_of(const std::vector<std::string>& words, RandomStream& random) {
  return words[random.below(words.size())];
}

// The words of one text, in units that stay together.
class TextDraw {
 public:
  explicit TextDraw(RandomStream random) : random_(random), words_(planted_words()) {}

  double probability() const { return probability_of(scale * sum_); }
  std::string draw() {
    const double length = std::exp(std::log(50.0) + 0.45 * random_.normal());
    const int wanted = std::clamp(static_cast<int>(std::lround(length)), least_words, most_words);
    const int pairs = least_pairs + static_cast<int>(random_.below(most_pairs - least_pairs + 1));
    for (int i = 0; i < pairs; ++i) add_pair();
    if (random_.uniform() < bare_share)
      add({&filler(), &any_of(random_.uniform() < 0.5 ? words_.positive : words_.negative, random_)});
    if (random_.uniform() < bare_share)
      add({&any_of(random_.uniform() < negated_share ? words_.negating : words_.affirming, random_), &filler()});
    if (random_.uniform() < decoy_share) add_decoys();
    while (count_ < wanted) add({&filler(), nullptr});
    return joined();
  }

 private:
  using Unit = std::array<const std::string*, 2>;
  void add(Unit unit) {
    units_.push_back(unit);
    count_ += unit[1] == nullptr ? 1 : 2;
  }
  void add_pair() {
    const bool affirms = random_.uniform() >= negated_share, positive = random_.uniform() < 0.5;
    const std::string& modifier = any_of(affirms ? words_.affirming : words_.negating, random_);
    const size_t keyword = random_.below(keywords_a_kind);
    sum_ += (affirms == positive ? 1 : -1) * strength_of(keyword);
    add({&modifier, &(positive ? words_.positive : words_.negative)[keyword]});
  }
  void add_decoys() {
    const bool yes = sum_ == 0 ? random_.uniform() < 0.5 : sum_ > 0;
    for (int i = 0; i < decoys_a_text; ++i) {
      const bool agrees = random_.uniform() < (1 + decoy_correlation) / 2;
      add({&any_of(agrees == yes ? words_.yes_decoys : words_.no_decoys, random_), nullptr});
    }
  }
  const std::string& filler() {
    return words_.filler[static_cast<size_t>(zipf_rank(random_.uniform(), filler_count, filler_exponent))];
  }
  std::string joined() {
    std::string text;
    for (const int64_t place : random_.permutation(static_cast<int64_t>(units_.size()))) {
      for (const std::string* word : units_[static_cast<size_t>(place)]) {
        if (word == nullptr) continue;
        if (!text.empty()) text += ' ';
        text += *word;
      }
    }
    return text;
  }

  RandomStream random_;
  const PlantedWords& words_;
  std::vector<Unit> units_;
  int count_ = 0;
  int sum_ = 0;  // of the pairs
};

// What a word does: the sign of a modifier, or the signed strength of a keyword; 0: it is none.
struct Meaning {
  int modifier = 0, keyword = 0;
};

std::unordered_map<std::string_view, Meaning> make_meanings() {
  const PlantedWords& words = planted_words();
  std::unordered_map<std::string_view, Meaning> meanings;
  for (const std::string& word : words.affirming) meanings[word].modifier = 1;
  for (const std::string& word : words.negating) meanings[word].modifier = -1;
  for (size_t i = 0; i < keywords_a_kind; ++i) {
    meanings[words.positive[i]].keyword = strength_of(i);
    meanings[words.negative[i]].keyword = -strength_of(i);
  }
  return meanings;
}

}  // namespace

const PlantedWords& planted_words() {
  static const PlantedWords words = make_words();
  return words;
}

PlantedText make_planted_texts(int64_t rows, uint64_t seed) {
  const PlantedWords& words = planted_words();
  PlantedText made;
  TextData& data = made.data;
  data.name = fmt::format("planted-text/{}", seed);
  data.label = "label";
  data.class_names = {"no", "yes"};
  for (const auto* list : {&words.affirming, &words.negating, &words.positive, &words.negative})
    data.planted.insert(data.planted.end(), list->begin(), list->end());
  Progress progress("making texts", rows, {"texts"});
  for (int64_t row = 0; row < rows; ++row) {
    progress.update(row);
    RandomStream random(mix_key(seed, draw_texts), static_cast<uint64_t>(row));
    const double chance = random.uniform();
    TextDraw draw(random);
    data.texts.add(draw.draw());
    made.probabilities.push_back(draw.probability());
    data.labels.push_back(chance < made.probabilities.back() ? 1 : 0);
  }
  SplitRows split = draw_made_rows(rows, seed);
  data.split_rows = {std::move(split.train), std::move(split.valid), std::move(split.test)};
  const PlantedTextScores best = planted_text_bayes();
  data.bayes_auc = best.auc;
  data.bayes_nll = best.nll;
  finish(data);
  return made;
}

TextData make_planted_text(int64_t rows, uint64_t seed) { return make_planted_texts(rows, seed).data; }

double planted_text_probability(std::string_view text) {
  static const std::unordered_map<std::string_view, Meaning> meanings = make_meanings();
  int sum = 0, modifier = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const auto known = meanings.find(text.substr(0, end));
    const Meaning meaning = known == meanings.end() ? Meaning() : known->second;
    sum += modifier * meaning.keyword;
    modifier = meaning.modifier;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return probability_of(scale * sum);
}

// By Monte Carlo over 10 million texts (standard error below .0001); a test computes them again.
PlantedTextScores planted_text_bayes() { return {0.9508, 0.2807}; }

}  // namespace l0gm
