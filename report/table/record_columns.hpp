#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "report/table/table.hpp"

namespace dlscale::report {

/// Adds columns of records that mean the same to those who follow numbers from run to run. Of every
/// column of records it is told what it is (tests/report/records_declared.hpp): by its name alone a
/// number without a unit would be a key, and so another series in every run.
inline void add_columns(std::vector<Column>& columns, Meaning meaning,
                        std::initializer_list<std::string_view> headings) {
  for (const std::string_view heading : headings) {
    columns.push_back({std::string(heading), Align::right, meaning, {}});
  }
}

}  // namespace dlscale::report
