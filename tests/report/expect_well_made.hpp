#pragma once
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/table/table.hpp"
#include "tests/report/records_declared.hpp"

namespace dlscale::report {

/// Every row of a document has a cell a column, its records are declared, and its JSON is some.
inline void expect_well_made(const Document& document) {
  for (const Table& table : document.tables) {
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.title;
  }
  for (const auto& row : document.records.rows) {
    EXPECT_EQ(row.size(), document.records.columns.size());
  }
  expect_declared(document);
  EXPECT_TRUE(nlohmann::json::accept(document.json()));
}

}  // namespace dlscale::report
