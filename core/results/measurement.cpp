#include "core/results/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/slowest_rank.hpp"

namespace dlscale {
namespace {

bool all_finite(const std::vector<std::vector<double>>& samples) {
  return std::all_of(samples.begin(), samples.end(), [](const auto& rank) {
    return std::all_of(rank.begin(), rank.end(), [](double x) { return std::isfinite(x); });
  });
}

template <class Value>
const Value& find_or_throw(const std::map<std::string, Value>& map, std::string_view name,
                           std::string_view what, const Measurement& measurement) {
  const auto found = map.find(std::string(name));
  if (found != map.end()) return found->second;
  std::vector<std::string> names;
  std::transform(map.begin(), map.end(), std::back_inserter(names),
                 [](const auto& entry) { return entry.first; });
  throw ConfigError(fmt::format(
      "the result \"{}\" has no {} \"{}\", only: {}. Measure it again with this version.",
      measurement.key(), what, name, fmt::join(names, ", ")));
}

}  // namespace

std::string_view status_name(Status status) {
  switch (status) {
    case Status::ok:
      return "ok";
    case Status::unstable:
      return "unstable";
    case Status::wrong:
      return "wrong";
    case Status::unsupported:
      return "unsupported";
    case Status::interrupted:
      return "interrupted";
  }
  fail_expectation("status is a Status");
}

Series make_series(std::string unit, std::vector<std::vector<double>> samples) {
  Series series{std::move(unit), std::move(samples), {}};
  if (series.samples.empty()) return series;
  const std::vector<double> slowest = slowest_rank(series.samples);
  if (!slowest.empty() && all_finite(series.samples)) series.summary = summarize(slowest);
  return series;
}

const Series& Measurement::at(std::string_view series_name) const {
  return find_or_throw(series, series_name, "series", *this);
}

const std::string& Measurement::axis(std::string_view name) const {
  return find_or_throw(axes, name, "axis", *this);
}

std::string Measurement::key() const {
  std::string text = benchmark;
  for (const auto& [name, value] : axes) text += fmt::format(" {}={}", name, value);
  return text;
}

}  // namespace dlscale
