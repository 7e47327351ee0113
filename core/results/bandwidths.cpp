#include "core/results/bandwidths.hpp"

#include <array>
#include <charconv>
#include <string>

namespace dlscale {
namespace {

std::optional<double> positive_axis(const Measurement& measurement, const std::string& name) {
  const auto found = measurement.axes.find(name);
  if (found == measurement.axes.end()) return {};
  double value = 0;
  const std::string& text = found->second;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = result.ec == std::errc{} && result.ptr == text.data() + text.size();
  if (!whole || !(value > 0)) return {};
  return value;
}

constexpr std::array<std::string_view, 3> of_blocks{"all_gather", "reduce_scatter", "all_to_all"};
constexpr std::array<std::string_view, 6> of_one_flow{"broadcast", "reduce",        "sendrecv",
                                                      "bandwidth", "bidirectional", "pairs"};

template <class Names>
bool holds(const Names& names, std::string_view name) {
  for (const std::string_view each : names) {
    if (each == name) return true;
  }
  return false;
}

}  // namespace

std::optional<double> bus_factor(std::string_view collective, int ranks) {
  const double n = ranks;
  if (collective == "all_reduce") return 2 * (n - 1) / n;
  if (holds(of_blocks, collective)) return (n - 1) / n;
  if (holds(of_one_flow, collective)) return 1.0;
  return {};
}

std::optional<Bandwidths> bandwidths(const Measurement& measurement, Seconds time) {
  const auto collective = measurement.axes.find("collective");
  const auto bytes = positive_axis(measurement, "bytes");
  const auto ranks = positive_axis(measurement, "ranks");
  if (collective == measurement.axes.end() || !bytes || !ranks || !(time > Seconds(0))) return {};
  Bandwidths result{Bytes(*bytes) / time, {}, {}};
  if (const auto factor = bus_factor(collective->second, static_cast<int>(*ranks))) {
    result.busbw = *factor * result.algbw;
  }
  if (const auto& work = measurement.algorithmic_work) result.wirebw = work->bytes / time;
  return result;
}

}  // namespace dlscale
