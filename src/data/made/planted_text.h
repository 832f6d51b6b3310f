#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/text_dataset.h"

// `planted-text`: made texts whose words say what they say only in context. 20 to 120 made-up words, no and yes as classes.
//   pairs     1 to 3 of "modifier keyword". A keyword has a polarity and a strength, a modifier affirms it or, one time in four,
//             negates it; the logit is the sum of modifier x polarity x strength. A modifier tells nothing by itself and a
//             keyword a part: word counts fall short of what order tells. (Were half of them negated, counts would tell nothing
//             at all, and gradients would hardly find the rule.)
//   bare      in half of the texts each, a keyword without a modifier before it and a modifier without a keyword behind it; they
//             say nothing.
//   decoys    in half of the texts, two words whose sign is correlated .5 with that of the logit and that tell nothing beyond it.
//   filler    500 words of Zipf's frequencies.
//   const TextData data = make_planted_text(20000, 0);
namespace l0gm {

// The same for every seed.
struct PlantedWords {
  std::vector<std::string> affirming, negating;  // modifiers
  std::vector<std::string> positive, negative;   // keywords
  std::vector<std::string> yes_decoys, no_decoys;
  std::vector<std::string> filler;  // the most frequent first
};
const PlantedWords& planted_words();

struct PlantedText {
  TextData data;                      // split 60 / 20 / 20; data.planted: modifiers and keywords
  std::vector<double> probabilities;  // the true P(yes) of each text
};
PlantedText make_planted_texts(int64_t rows, uint64_t seed);  // the first texts do not depend on how many there are
TextData make_planted_text(int64_t rows, uint64_t seed);

// The true P(yes) of a text, read from its words.
double planted_text_probability(std::string_view text);

// What the best possible model scores, in the limit of many texts.
struct PlantedTextScores {
  double auc = 0, nll = 0;
};
PlantedTextScores planted_text_bayes();

}  // namespace l0gm
