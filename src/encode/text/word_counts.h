#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace l0gm {

// How often each word occurs in the texts, in the order of the words: lower case, split as BERT splits. Words of more than 100
// characters are left out. In the threads of base/threads.h, with the same result for any number of them.
std::vector<std::pair<std::string, int64_t>> count_words(const std::vector<std::string_view>& texts);

}  // namespace l0gm
