#pragma once
#include <gtest/gtest.h>

#include "report/table/table.hpp"

namespace dlscale::report {

/// Of every column of records it is told what it is, rather than guessed from its heading.
inline void expect_declared(const Document& document) {
  for (const Table* records : {&document.records, &document.cells}) {
    for (const Column& column : records->columns) {
      EXPECT_NE(column.meaning, Meaning::undeclared)
          << column.heading << " is a key or a value: see report/table/field_table.hpp";
    }
  }
}

}  // namespace dlscale::report
