#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "encode/text/tokenizer.h"
#include "encode/text/transformer_config.h"
#include "encoders/text/part_costs.h"
#include "training/modality.h"

namespace l0gm {

// Everything a run knows about its texts without having them: schema.json. The tokenizer is kept whole, so that a run predicts
// without the folder that its encoder came from.
class TextRecord : public Record {
 public:
  std::string text_column;  // where predicted files have their texts
  std::string label_column;
  std::vector<std::string> classes;
  std::vector<int64_t> class_rows;  // training texts of each
  std::shared_ptr<const Tokenizer> tokenizer;
  TransformerConfig encoder;
  int64_t max_tokens = 0;
  int64_t texts = 0;               // of all splits
  double truncated_share = 0;      // of them: longer than max_tokens
  double mean_tokens = 0;          // of a training text, after truncation
  double mean_square_tokens = 0;   // the same of its square; gates on the structure only, else 0
  std::optional<PartTimes> times;  // gate.cost = latency: as measured when training began
  std::string timed_on;            // the device of these times
  std::vector<FileStamp> weights;  // files of the encoder that training started from; none: from scratch
  double bayes_auc = 0;            // made texts

  nlohmann::json to_json() const override;
  static TextRecord from_json(const nlohmann::json& json);
  std::string label() const override { return label_column; }
  const std::vector<std::string>& class_names() const override { return classes; }
  const std::vector<int64_t>& rows_of_classes() const override { return class_rows; }
};

}  // namespace l0gm
