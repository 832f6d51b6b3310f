#include "data/made/planted_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <unordered_map>

#include "data/made/made_table.h"
#include "data/made/made_tools.h"

namespace l0gm {
namespace {

using made_tools::ranked_auc;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::vector<double> labels_of(const TextData& data) { return {data.labels.begin(), data.labels.end()}; }

TEST(PlantedText, WordsAreDifferentAndOfOneTokenEach) {
  const PlantedWords& words = planted_words();
  std::set<std::string> all;
  size_t count = 0;
  for (const auto* list : {&words.affirming, &words.negating, &words.positive, &words.negative, &words.yes_decoys,
                           &words.no_decoys, &words.filler}) {
    count += list->size();
    all.insert(list->begin(), list->end());
  }
  EXPECT_EQ(all.size(), count);
  for (const std::string& word : all) {
    EXPECT_EQ(word.size(), 4u);
    EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), std::string::npos) << word;
  }
}

TEST(PlantedText, ShapeSplitAndTruth) {
  const TextData data = make_planted_text(3000, 3);
  EXPECT_EQ(data.name, "planted-text/3");
  EXPECT_EQ(data.class_names, (std::vector<std::string>{"no", "yes"}));
  EXPECT_EQ(data.rows(Split::train).size(), 1800u);
  EXPECT_EQ(data.rows(Split::valid).size(), 600u);
  EXPECT_EQ(data.rows(Split::test).size(), 600u);
  EXPECT_EQ(data.planted.size(), 18u);
  EXPECT_EQ(data.bayes_auc, planted_text_bayes().auc);
  EXPECT_EQ(data.empty_texts + data.invalid_texts, 0);
  size_t shortest = 1000, longest = 0;
  double yes = 0, words = 0;
  for (int64_t row = 0; row < 3000; ++row) {
    const size_t count = words_of(data.texts.view(row)).size();
    shortest = std::min(shortest, count);
    longest = std::max(longest, count);
    words += static_cast<double>(count) / 3000;
    yes += data.labels[static_cast<size_t>(row)] / 3000.0;
  }
  EXPECT_GE(shortest, 20u);
  EXPECT_LE(longest, 120u);
  EXPECT_GT(longest, 100u);
  EXPECT_NEAR(words, 55, 3);
  EXPECT_NEAR(yes, 0.5, 0.04);
}

TEST(PlantedText, FollowsTheSeedAndNotTheNumberOfTexts) {
  const TextData data = make_planted_text(200, 1), more = make_planted_text(300, 1), other = make_planted_text(200, 2);
  EXPECT_EQ(data.texts.sha256(), make_planted_text(200, 1).texts.sha256());
  EXPECT_NE(data.texts.sha256(), other.texts.sha256());
  for (int64_t row = 0; row < 200; ++row) {
    EXPECT_EQ(data.texts.view(row), more.texts.view(row));
    EXPECT_EQ(data.labels[static_cast<size_t>(row)], more.labels[static_cast<size_t>(row)]);
  }
}

TEST(PlantedText, TheTruthIsInTheWordsAndTheirOrder) {
  const PlantedText made = make_planted_texts(2000, 0);
  for (int64_t row = 0; row < 2000; ++row)
    ASSERT_EQ(planted_text_probability(made.data.texts.view(row)), made.probabilities[static_cast<size_t>(row)]) << row;
  const PlantedWords& words = planted_words();
  const std::string yes = words.affirming[0] + " " + words.positive[0], no = words.negating[1] + " " + words.positive[0];
  EXPECT_GT(planted_text_probability(yes), 0.5);
  EXPECT_LT(planted_text_probability(no), 0.5);
  EXPECT_GT(planted_text_probability(words.negating[0] + " " + words.negative[2]), 0.5);
  EXPECT_EQ(planted_text_probability(yes + " " + no), 0.5);
  EXPECT_EQ(planted_text_probability(words.positive[0] + " " + words.affirming[0]), 0.5) << "the wrong way round";
  EXPECT_EQ(planted_text_probability(words.affirming[0] + " " + words.filler[0] + " " + words.positive[0]), 0.5);
  EXPECT_EQ(planted_text_probability(""), 0.5);
}

TEST(PlantedText, BayesScoresAreThoseOfManyTexts) {
  const PlantedText made = make_planted_texts(100000, 77);
  const BayesScores found = bayes_scores(made.probabilities);
  EXPECT_NEAR(found.auc, planted_text_bayes().auc, 0.003);
  EXPECT_NEAR(found.nll, planted_text_bayes().nll, 0.006);
  EXPECT_NEAR(planted_text_bayes().auc, 0.95, 0.005);
  EXPECT_NEAR(ranked_auc(made.probabilities, labels_of(made.data)), found.auc, 0.01) << "labels are drawn by them";
}

// Counts of the words that have a role, what a linear bag of words could use at best; filler is independent of the label.
std::vector<std::vector<double>> role_counts(const TextData& data) {
  const PlantedWords& words = planted_words();
  std::unordered_map<std::string_view, size_t> number;
  for (const auto* list :
       {&words.affirming, &words.negating, &words.positive, &words.negative, &words.yes_decoys, &words.no_decoys}) {
    for (const std::string& word : *list) number.emplace(word, number.size());
  }
  std::vector<std::vector<double>> counts(static_cast<size_t>(data.texts.size()), std::vector<double>(number.size(), 0));
  for (int64_t row = 0; row < data.texts.size(); ++row) {
    for (const std::string_view word : words_of(data.texts.view(row))) {
      if (const auto known = number.find(word); known != number.end()) counts[static_cast<size_t>(row)][known->second] += 1;
    }
  }
  return counts;
}

// Logistic regression by gradient descent on the first half of the rows; scores of all.
std::vector<double> linear_scores(const std::vector<std::vector<double>>& features, const std::vector<double>& labels) {
  const size_t width = features[0].size(), rows = features.size() / 2;
  std::vector<double> weights(width + 1, 0);
  const auto score = [&](const std::vector<double>& row) {
    double sum = weights[width];
    for (size_t j = 0; j < width; ++j) sum += weights[j] * row[j];
    return sum;
  };
  for (int step = 0; step < 300; ++step) {
    std::vector<double> gradient(width + 1, 0);
    for (size_t i = 0; i < rows; ++i) {
      const double error = probability_of(score(features[i])) - labels[i];
      for (size_t j = 0; j < width; ++j) gradient[j] += error * features[i][j];
      gradient[width] += error;
    }
    for (size_t j = 0; j <= width; ++j) weights[j] -= 1.0 / static_cast<double>(rows) * gradient[j];
  }
  std::vector<double> scores;
  for (const auto& row : features) scores.push_back(score(row));
  return scores;
}

TEST(PlantedText, ABagOfWordsFallsFarShort) {
  const TextData data = make_planted_text(12000, 5);
  const std::vector<double> labels = labels_of(data), scores = linear_scores(role_counts(data), labels);
  const auto held_out = [](const std::vector<double>& values) {
    return std::vector<double>(values.begin() + 6000, values.end());
  };
  const double auc = ranked_auc(held_out(scores), held_out(labels));
  EXPECT_LT(auc, planted_text_bayes().auc - 0.1);
  EXPECT_GT(auc, 0.7) << "decoys and keywords tell something";
}

// Counts of modifiers are not correlated with the label; those of keywords and decoys are.
TEST(PlantedText, ModifiersTellNothingByThemselves) {
  const PlantedText made = make_planted_texts(40000, 6);
  const auto counts = role_counts(made.data);
  constexpr size_t modifiers = 6;
  for (size_t word = 0; word < counts[0].size(); ++word) {
    double sum = 0, squares = 0;
    for (size_t row = 0; row < counts.size(); ++row) {
      const double product = counts[row][word] * (made.probabilities[row] - 0.5);
      sum += product;
      squares += product * product;
    }
    const double errors = std::abs(sum) / std::sqrt(squares);
    if (word < modifiers) {
      EXPECT_LT(errors, 4.5) << word;
    } else {
      EXPECT_GT(errors, 6) << word;
    }
  }
}

}  // namespace
}  // namespace l0gm
