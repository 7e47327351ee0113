#include "model/sgd_iter/kernels/sheet_times.hpp"

#include <algorithm>
#include <utility>

#include "model/roofline/sheet/domain.hpp"

namespace dlscale::model {
namespace {

/// What times by a data sheet depend on.
struct SheetQuestion {
  SheetQuestion(const Network& asked, const Machine& machine, const Run& run)
      : network(fingerprint(asked)),
        device(machine.cluster.device.name + '\n' + machine.cluster.device.sheet),
        numbers{machine.cluster.device.memory_bandwidth.si(), machine.cluster.device.launch.si()},
        dtype(run.dtype),
        launch(run.launch),
        batch(run.batch),
        traits(sheet::traits_for(asked, run.dtype, machine.software)) {
    for (const auto& [precision, peak] : machine.cluster.device.peak) {
      numbers.push_back(static_cast<double>(precision));
      numbers.push_back(peak.si());
    }
    const DeviceUnits& units = *machine.cluster.device.units;
    for (const double number :
         {static_cast<double>(units.multiprocessors), static_cast<double>(units.cores),
          units.boost_clock.si(), units.base_clock.si(), units.tensor_clock.si()}) {
      numbers.push_back(number);
    }
  }
  bool operator==(const SheetQuestion&) const = default;

  std::string network;
  std::string device;
  std::vector<double> numbers;
  DType dtype;
  Launch launch;
  int batch;
  ComputeTraits traits;
};

}  // namespace

SheetTimes::SheetTimes(const Network& asked, const Machine& machine, const Run& run)
    : network(asked),
      device(machine.cluster.device),
      traits(sheet::traits_for(network, run.dtype, machine.software)),
      times(network, device, run, traits, constants),
      beyond(sheet::beyond(sheet::nominal_domain(), device, network, run)),
      range(sheet::kernel_range(times, traits, run.dtype, constants)) {
  if (!beyond.empty()) range = sheet::stretched(range);
}

std::shared_ptr<SheetTimes> sheet_times(const Network& network, const Machine& machine,
                                        const Run& run) {
  using Known = std::pair<SheetQuestion, std::shared_ptr<SheetTimes>>;
  constexpr std::size_t most = 8;
  thread_local std::vector<Known> latest;
  SheetQuestion question(network, machine, run);
  const auto known = std::ranges::find(latest, question, &Known::first);
  if (known != latest.end()) return known->second;
  if (latest.size() == most) latest.erase(latest.begin());
  auto made = std::make_shared<SheetTimes>(network, machine, run);
  latest.emplace_back(std::move(question), made);
  return made;
}

}  // namespace dlscale::model
