#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "histories.hpp"
#include "regression/check/check.hpp"

namespace dlscale::regression::history::samples {

/// A history of kernels in a folder of its own, written commit by commit.
class MeasuredHistory : public testing::Test {
 protected:
  MeasuredHistory() : store_(folder_store(folder_.path())) {}

  /// One run of each of the commits, 1 % of noise around the level.
  void measure(const SeriesKey& key, int first, int last, double level) {
    for (int commit = first; commit <= last; ++commit) measure_once(key, commit, noisy(level));
    flush();
  }
  void measure_once(const SeriesKey& key, int commit, double value) {
    runs_.push_back(run_of({key}, commit, value, repeat_++));
  }
  void flush() {
    store_.add(runs_);
    runs_.clear();
  }
  [[nodiscard]] double noisy(double level) { return level * std::exp(noise_(generator_)); }
  [[nodiscard]] CheckReport look() {
    return check(store_, [](const SeriesKey&) { return true; });
  }
  [[nodiscard]] CheckReport mark(const Alert& alert, AlertState state) {
    Annotation annotation{0, alert.commit, state, {}, "because"};
    for (const AlertMetric& metric : alert.metrics) annotation.series.push_back(metric.series);
    std::ranges::sort(annotation.series);
    store_.annotate([&] { return annotation; });
    return look();
  }

  TemporaryFolder folder_;
  Store store_;

 private:
  std::vector<ImportedRun> runs_;
  std::mt19937 generator_{7};
  std::normal_distribution<double> noise_{0, 0.01};
  int repeat_ = 0;
};

}  // namespace dlscale::regression::history::samples
