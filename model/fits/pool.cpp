#include "model/fits/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::model {

const std::string& Sourced::axis(std::string_view name) const {
  const auto found = measurement->axes.find(std::string(name));
  if (found == measurement->axes.end()) {
    throw ConfigError(
        fmt::format("{}: {} has no axis \"{}\", without which it cannot be fitted. "
                    "Measure again with this version.",
                    file, measurement->key(), name));
  }
  return found->second;
}

std::int64_t Sourced::integer(std::string_view name) const {
  const std::string& text = axis(name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw ConfigError(
        fmt::format("{}: {} has {} = \"{}\", which is not an integer ≥ 1. Measure again.", file,
                    measurement->key(), name, text));
  }
  return value;
}

int Sourced::count(std::string_view name) const {
  const std::int64_t value = integer(name);
  if (value > 1'000'000'000) {
    throw ConfigError(fmt::format("{}: {} has {} = {}, which is out of range. Measure again.", file,
                                  measurement->key(), name, value));
  }
  return static_cast<int>(value);
}

std::map<std::vector<std::string>, Group> group_by(const Group& all,
                                                   const std::vector<std::string_view>& axes) {
  std::map<std::vector<std::string>, Group> groups;
  for (const Sourced& one : all) {
    std::vector<std::string> key;
    key.reserve(axes.size());
    for (const std::string_view axis : axes) key.push_back(one.axis(axis));
    groups[key].push_back(one);
  }
  return groups;
}

namespace {

const Summary& summary(const Sourced& one, std::string_view name, Range range) {
  const auto found = one.measurement->series.find(std::string(name));
  const auto fail = [&](std::string_view problem) -> ConfigError {
    return ConfigError(fmt::format("{}: {}: series \"{}\" {}. Measure again.", one.file,
                                   one.measurement->key(), name, problem));
  };
  if (found == one.measurement->series.end()) throw fail("is missing");
  if (found->second.unit != "s") throw fail("is not in seconds");
  const Summary& s = found->second.summary;
  const bool ordered = s.ci95_low <= s.median && s.median <= s.ci95_high;
  if (s.n == 0 || !std::isfinite(s.ci95_high) || !ordered) throw fail("has no valid summary");
  if (s.median < 0 || (range == Range::positive && s.median == 0)) throw fail("is not positive");
  return s;
}

/// Mean over the ranks of their own medians.
Summary mean_of_ranks(const Series& series) {
  Summary mean;
  const auto ranks = static_cast<double>(series.samples.size());
  for (const auto& samples : series.samples) {
    const Summary rank = summarize(samples);
    mean.median += rank.median / ranks;
    mean.ci95_low += rank.ci95_low / ranks;
    mean.ci95_high += rank.ci95_high / ranks;
  }
  return mean;
}

}  // namespace

Estimate<Seconds> pool(const Group& group, std::string_view series, Range range, Ranks ranks) {
  EXPECT(!group.empty());
  std::vector<double> medians;
  double low = 0;
  double high = 0;
  for (const Sourced& one : group) {
    Summary s = summary(one, series, range);
    if (ranks == Ranks::each) s = mean_of_ranks(one.measurement->at(series));
    low = medians.empty() ? s.ci95_low : std::min(low, s.ci95_low);
    high = std::max(high, s.ci95_high);
    medians.push_back(s.median);
  }
  return {Seconds(median(medians)), Seconds(std::max(0.0, low)), Seconds(high)};
}

Estimate<Seconds> pool_mean(const Group& group, std::string_view series) {
  EXPECT(!group.empty());
  double count = 0;
  double sum = 0;
  double squares = 0;
  for (const Sourced& one : group) {
    summary(one, series, Range::not_negative);
    for (const auto& rank : one.measurement->at(series).samples) {
      for (const double sample : rank) {
        ++count;
        sum += sample;
        squares += sample * sample;
      }
    }
  }
  const double mean = sum / count;
  const double variance = std::max(0.0, squares / count - mean * mean) / std::max(1.0, count - 1);
  const double half = 1.96 * std::sqrt(variance);
  return {Seconds(mean), Seconds(std::max(0.0, mean - half)), Seconds(mean + half)};
}

std::string source(const Group& group) {
  std::set<std::string> files;
  for (const Sourced& one : group) files.insert(one.file);
  if (files.size() == 1) return *files.begin();
  return fmt::format("{} and {} more", *files.begin(), files.size() - 1);
}

}  // namespace dlscale::model
