#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_table.h"

namespace l0gm {

// The distinct labels of some rows: in numeric order when all are numbers, else in the order of their text.
std::vector<std::string> distinct_classes(const TextTable& table, int64_t label_column,
                                          std::span<const std::string> missing_marks, std::span<const int64_t> rows);

// UserError when the classes are the values of a quantity: more than 100 numbers, or more than 20 that are not all whole; or when
// they are more than 100 and have fewer than three rows each, as dates and names have.
void refuse_quantity(const std::string& label, const std::vector<std::string>& classes, int64_t rows);

// UserError when a label of these rows is missing or not among the classes of training. `part` ("validation", "test", "") is for
// the message.
void check_labels(const TextTable& table, int64_t label_column, const std::vector<std::string>& classes,
                  std::span<const std::string> missing_marks, std::span<const int64_t> rows, std::string_view part);

// A sentence about classes that have fewer than ten training rows, with their rows in each part of the data; "": there are none.
// Labels have been checked.
std::string small_classes(const TextTable& table, int64_t label_column, const std::vector<std::string>& classes,
                          std::span<const int64_t> training, std::span<const int64_t> validation, std::span<const int64_t> test);

}  // namespace l0gm
