#include "core/results/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

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

struct Reason {
  std::uint64_t bit;
  std::string_view name;
};

/// nvmlClocksEventReason… of the NVML API Reference Guide.
constexpr std::array throttling{
    Reason{0x04, "power limit"},
    Reason{0x08, "hardware slowdown"},
    Reason{0x10, "sync boost"},
    Reason{0x20, "temperature limit of the software"},
    Reason{0x40, "temperature limit of the hardware"},
    Reason{0x80, "power brake"},
};

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

std::vector<std::string> throttle_names(std::uint64_t reasons) {
  std::vector<std::string> names;
  for (const Reason& reason : throttling) {
    if ((reasons & reason.bit) != 0) names.emplace_back(reason.name);
  }
  return names;
}

}  // namespace dlscale
