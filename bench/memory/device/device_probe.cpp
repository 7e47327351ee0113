#include "bench/memory/device/device_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "backend/comm/together.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using backend::Probe;
using backend::Reading;

constexpr std::size_t most_laps = 8192;

/// The readings of a rank's runs, warm-up first.
class Readings {
 public:
  void add(Reading reading) { all_.push_back(std::move(reading)); }
  [[nodiscard]] std::size_t count() const { return all_.size(); }

  /// Host times of the last `samples` runs; empty if the probe has none.
  [[nodiscard]] std::vector<double> host_times(std::size_t samples) const {
    std::vector<double> times;
    for (const Reading& reading : last(samples)) {
      if (reading.host_time) times.push_back(reading.host_time->si());
    }
    return times;
  }

  /// Cycles of the last `samples` runs, in order, up to the limit of a series.
  [[nodiscard]] std::vector<double> cycles(std::size_t samples,
                                           std::vector<double> Reading::*member) const {
    const std::size_t each = std::max<std::size_t>(1, (all_.back().*member).size());
    std::vector<double> cycles;
    for (const Reading& reading :
         last(std::min(samples, std::max<std::size_t>(1, most_laps / each)))) {
      std::copy((reading.*member).begin(), (reading.*member).end(), std::back_inserter(cycles));
    }
    return cycles;
  }

 private:
  [[nodiscard]] std::span<const Reading> last(std::size_t samples) const {
    return std::span(all_).last(samples);
  }

  std::vector<Reading> all_;
};

void add_series(Measurement& measurement, const char* name, const char* unit,
                const std::vector<double>& mine, backend::Communicator& communicator) {
  if (mine.empty()) return;  // likewise on all ranks, which run the same probe
  measurement.series[name] = make_series(unit, gather_on_ranks(communicator, mine));
}

void add_readings(Measurement& measurement, const Readings& readings,
                  backend::Communicator& communicator) {
  const auto time = measurement.series.find("time");
  if (time == measurement.series.end()) return;
  const std::size_t samples = time->second.samples.front().size();
  add_series(measurement, "host_time", "s", readings.host_times(samples), communicator);
  add_series(measurement, "cycles", "cycles", readings.cycles(samples, &Reading::cycles),
             communicator);
  add_series(measurement, "empty_cycles", "cycles",
             readings.cycles(samples, &Reading::empty_cycles), communicator);
}

/// A probe that all ranks have made and run once, with the number of wrong elements on all ranks.
struct CheckedProbe {
  std::unique_ptr<Probe> probe;
  double wrong = 0;
};

CheckedProbe make_checked(ProbeContext& probe_context, const MakeProbe& make,
                          backend::Communicator& communicator) {
  CheckedProbe checked;
  together(communicator, [&] {
    checked.probe = make(*probe_context.probes);
    checked.wrong = static_cast<double>(checked.probe->wrong_elements());
  });
  communicator.all_reduce(std::span(&checked.wrong, 1), backend::Reduction::sum);
  return checked;
}

Measurement wrong_result(double wrong) {
  Measurement measurement;
  measurement.status = Status::wrong;
  measurement.reason = fmt::format("{} elements are not what they should be", wrong);
  return measurement;
}

Measurement sample(ProbeContext& probe_context, Probe& probe, const Sampler& sampler) {
  return with_conditions(probe_context.witness, sampler.communicator(), [&](std::size_t& runs) {
    Readings readings;
    const auto once = [&] {
      Reading reading = probe.run();
      const Seconds time = reading.time;
      readings.add(std::move(reading));
      return time;
    };
    Measurement measurement =
        sampler.sample({.set_up = {}, .barrier = backend::WaitPolicy::spin, .once = once});
    add_readings(measurement, readings, sampler.communicator());
    runs = readings.count();
    return measurement;
  });
}

Measurement check_and_sample(ProbeContext& probe_context, const MakeProbe& make,
                             const Sampler& sampler) {
  const CheckedProbe checked = make_checked(probe_context, make, sampler.communicator());
  Measurement measurement = checked.wrong > 0 ? wrong_result(checked.wrong)
                                              : sample(probe_context, *checked.probe, sampler);
  if (checked.wrong == 0) measurement.max_relative_error = 0;  // all elements were compared
  measurement.implementation = checked.probe->implementation();
  return measurement;
}

}  // namespace

Measurement measure_probe(ProbeContext& probe_context, const MakeProbe& make,
                          std::optional<Work> work, const Sampler& sampler) {
  Measurement measurement;
  try {
    measurement = check_and_sample(probe_context, make, sampler);
  } catch (const Unsupported& error) {
    measurement = unsupported(error);
  }
  measurement.work = work;
  return measurement;
}

}  // namespace dlscale::bench
