#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "report/table/table.hpp"

namespace dlscale::report {

/// Adds columns of records with a common meaning for tracking numbers from run to run. Every column
/// of records declares its meaning (tests/report/records_declared.hpp). By its name alone, a number
/// without a unit would be a key, and so a new series in every run.
inline void add_columns(std::vector<Column>& columns, Meaning meaning,
                        std::initializer_list<std::string_view> headings) {
  for (const std::string_view heading : headings) {
    columns.push_back({std::string(heading), Align::right, meaning, {}});
  }
}

}  // namespace dlscale::report
