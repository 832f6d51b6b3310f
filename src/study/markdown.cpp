#include "study/markdown.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace l0gm {

namespace {

size_t columns_of_text(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

constexpr size_t widest = 60;  // longer cells are not waited for

std::string table_line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) {
  std::string line = "|";
  for (size_t c = 0; c < widths.size(); ++c) {
    const std::string& cell = c < cells.size() ? cells[c] : "";
    line += " " + cell + std::string(widths[c] - std::min(widths[c], columns_of_text(cell)), ' ') + " |";
  }
  return line + "\n";
}

}  // namespace

std::string markdown_table(const std::vector<std::string>& head, const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::string& cell : head) widths.push_back(std::max<size_t>(3, columns_of_text(cell)));
  for (const std::vector<std::string>& row : rows) {
    for (size_t c = 0; c < std::min(row.size(), widths.size()); ++c) widths[c] = std::max(widths[c], columns_of_text(row[c]));
  }
  for (size_t& width : widths) width = std::min(width, widest);
  std::string text = table_line(head, widths) + "|";
  for (const size_t width : widths) text += std::string(width + 2, '-') + "|";
  text += "\n";
  for (const std::vector<std::string>& row : rows) text += table_line(row, widths);
  return text;
}

std::string figure_text(double value, int digits) { return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-"; }

std::string interval_text(double mean, double low, double high, int digits) {
  if (!std::isfinite(low) || !std::isfinite(high)) return figure_text(mean, digits);
  return fmt::format("{} ({} … {})", figure_text(mean, digits), figure_text(low, digits), figure_text(high, digits));
}

std::string signed_text(double mean, double low, double high, int digits) {
  if (!std::isfinite(mean)) return "-";
  return fmt::format("{:+.{}f} ({:+.{}f} … {:+.{}f})", mean, digits, low, digits, high, digits);
}

}  // namespace l0gm
