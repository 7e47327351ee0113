#include "report/rates.hpp"

#include <charconv>

namespace dlscale::report {
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

void add_bandwidths(Rates& rates, const Measurement& measurement, Seconds time) {
  const auto collective = measurement.axes.find("collective");
  const auto bytes = positive_axis(measurement, "bytes");
  const auto ranks = positive_axis(measurement, "ranks");
  if (collective == measurement.axes.end() || !bytes || !ranks) return;
  rates.algbw = Bytes(*bytes) / time;
  if (collective->second == "all_reduce") rates.busbw = 2 * (*ranks - 1) / *ranks * *rates.algbw;
}

}  // namespace

Rates rates(const Measurement& measurement) {
  Rates rates;
  const auto* main = main_series(measurement);
  if (main == nullptr || main->second.unit != "s" || !(main->second.summary.median > 0)) {
    return rates;
  }
  const Seconds time(main->second.summary.median);
  if (measurement.work && measurement.work->flops > Flops{}) {
    rates.flops = measurement.work->flops / time;
  }
  if (measurement.algorithmic_work && measurement.algorithmic_work->flops > Flops{}) {
    rates.algorithmic = measurement.algorithmic_work->flops / time;
  }
  if (measurement.work && measurement.work->bytes > Bytes{}) {
    rates.bytes = measurement.work->bytes / time;
  }
  add_bandwidths(rates, measurement, time);
  return rates;
}

const std::pair<const std::string, Series>* main_series(const Measurement& measurement) {
  for (const char* name : {"time", "t_iter", "compute"}) {
    const auto found = measurement.series.find(name);
    if (found != measurement.series.end()) return &*found;
  }
  return measurement.series.empty() ? nullptr : &*measurement.series.begin();
}

bool usable(const Measurement& measurement) {
  return measurement.status == Status::ok || measurement.status == Status::unstable;
}

}  // namespace dlscale::report
