#pragma once
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

#include "report/format/format.hpp"
#include "report/table.hpp"

namespace dlscale::report {

/// What Prometheus knows a series by: its name and labels, without the value.
inline std::set<std::string> series_of(const Document& document) {
  std::set<std::string> series;
  std::istringstream text(format::find_format("openmetrics").write(document, {}));
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with('#')) series.insert(line.substr(0, line.rfind(' ')));
  }
  return series;
}

/// That of two runs of one configuration every number can be followed: nothing measured is a part
/// of its name, and each row has a name of its own.
inline void expect_same_series(const Document& one, const Document& other) {
  EXPECT_NE(one.json, other.json) << "both are of the same run";
  const std::set<std::string> series = series_of(one);
  EXPECT_EQ(series, series_of(other));
  for (const std::string& each : series) {
    EXPECT_EQ(each.find(",row=\""), std::string::npos) << each;
  }
}

}  // namespace dlscale::report
