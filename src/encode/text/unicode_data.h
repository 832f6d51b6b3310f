#pragma once

#include <string_view>

// The tables of unicode_data.cpp, written as text by tests/reference/unicode_tables.py; unicode.cpp reads them.
namespace l0gm::unicode_data {

extern const std::string_view property_kinds;
extern const std::string_view properties;
extern const std::string_view combining_classes;
extern const std::string_view lower_case;
extern const std::string_view canonical;
extern const std::string_view compatible;

}  // namespace l0gm::unicode_data
