#pragma once
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "report/format/format.hpp"
#include "report/table/table.hpp"

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

/// What Bencher knows a series by: its benchmark and measure.
inline std::set<std::string> bencher_series_of(const Document& document) {
  std::set<std::string> series;
  const auto metrics = nlohmann::json::parse(format::find_format("bencher").write(document, {}));
  for (const auto& [benchmark, measures] : metrics.items()) {
    for (const auto& [measure, metric] : measures.items()) {
      series.insert(std::string(benchmark).append(": ").append(measure));
    }
  }
  return series;
}

/// That of two runs of one configuration every number can be followed: nothing measured is a part
/// of its name, and each row has a name of its own.
inline void expect_same_series(const Document& one, const Document& other) {
  EXPECT_NE(one.json(), other.json()) << "both are of the same run";
  const std::set<std::string> series = series_of(one);
  EXPECT_EQ(series, series_of(other));
  for (const std::string& each : series) {
    EXPECT_EQ(each.find(",row=\""), std::string::npos) << each;
  }
  const std::set<std::string> followed = bencher_series_of(one);
  EXPECT_FALSE(followed.empty());
  EXPECT_EQ(followed, bencher_series_of(other));
  for (const std::string& each : followed) {
    EXPECT_EQ(each.find(" row="), std::string::npos) << each;
  }
}

}  // namespace dlscale::report
