#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/table/table_dataset.h"

namespace l0gm {

const std::vector<std::string>& adult_columns();  // adult's files have no header; the label, `income`, is the last

// Appends the rows of one of adult's files to the table: no header, blanks after commas, a comment line that starts with '|',
// test labels that end in '.'. A label other than "<=50K" and ">50K" is a UserError.
void append_adult_rows(const std::filesystem::path& path, TextTable& table);

// UCI census income: adult.data followed by adult.test, labels "<=50K" and ">50K".
//   openml   all rows, split 35,165 / 3,908 / 9,769
//   uci      train and valid from adult.data (26,048 / 6,513), test is adult.test
// Seed k uses the fixed split k mod 3 where its files are present; else splits of the same sizes are drawn, stratified.
// `folder` is data.dir ("": only the other folders of data/locate.h). Files that are not found are fetched.
TableDataset load_adult(const std::string& folder, const std::string& protocol, int64_t seed);

}  // namespace l0gm
