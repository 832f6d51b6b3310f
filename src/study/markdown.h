#pragma once

#include <string>
#include <vector>

namespace l0gm {

// A table as Markdown, in columns of equal width so that it reads as well on a terminal.
std::string markdown_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows);

std::string figure_text(double value, int digits = 4);                            // "-" where it is undefined
std::string interval_text(double mean, double low, double high, int digits = 4);  // "0.8123 (0.8011 … 0.8235)"
std::string signed_text(double mean, double low, double high, int digits = 4);    // "+0.0031 (-0.0002 … +0.0064)"

}  // namespace l0gm
