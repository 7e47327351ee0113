#include "report/rates.hpp"

#include "core/bandwidths.hpp"
#include "core/statistics.hpp"
#include "report/numbers.hpp"

namespace dlscale::report {

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
  if (const auto derived = bandwidths(measurement, time)) {
    rates.algbw = derived->algbw;
    rates.busbw = derived->busbw;
    rates.wirebw = derived->wirebw;
  }
  return rates;
}

const std::pair<const std::string, Series>* main_series(const Measurement& measurement) {
  for (const char* name : {"time", "t_iter", "compute"}) {
    const auto found = measurement.series.find(name);
    if (found != measurement.series.end()) return &*found;
  }
  return measurement.series.empty() ? nullptr : &*measurement.series.begin();
}

bool has_interval(const Summary& summary) {
  return summary.n >= 6;
}

std::string interval_text(const Summary& summary) {
  return has_interval(summary) ? "±" + percent(relative_half_width(summary)) : "-";
}

}  // namespace dlscale::report
