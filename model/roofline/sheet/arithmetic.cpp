#include "model/roofline/sheet/arithmetic.hpp"

#include <algorithm>
#include <cmath>

namespace dlscale::model::sheet {
namespace {

/// Multiply-adds that a multiprocessor issues a clock; GPUs with more cores leave some idle.
constexpr double most_issued = 128;
/// A peak in 16 bits above this multiple of that in f32 is one of tensor cores.
constexpr double least_gain = 1.05;

Arithmetic plain_cores(const Device& device, DType dtype) {
  const DeviceUnits& units = *device.units;
  Arithmetic on;
  on.units = units.multiprocessors;
  on.peak_clock = units.boost_clock.si();
  on.base_clock = units.base_clock.si();
  on.flops_per_clock = device.peak.at(DType::f32).si() / on.units / on.peak_clock;
  on.issue = std::min(1.0, most_issued * units.multiprocessors / units.cores);
  on.bandwidth = device.memory_bandwidth;
  on.element_bytes = static_cast<double>(element_bytes(dtype));
  return on;
}

Arithmetic tensor_cores(const Device& device, DType dtype) {
  Arithmetic on = plain_cores(device, dtype);
  on.tensor_cores = true;
  on.peak_clock = device.units->tensor_clock.si();
  on.flops_per_clock = device.peak.at(dtype).si() / on.units / on.peak_clock;
  return on;
}

}  // namespace

std::vector<Arithmetic> arithmetic_in(const Device& device, DType dtype) {
  std::vector<Arithmetic> all{plain_cores(device, dtype)};
  const auto peak = device.peak.find(dtype);
  if (dtype == DType::f32 || peak == device.peak.end()) return all;
  const bool tensor =
      dtype == DType::tf32 || peak->second > least_gain * device.peak.at(DType::f32);
  if (tensor) all.push_back(tensor_cores(device, dtype));
  return all;
}

double board_load(const DeviceSheet& sheet, const KernelConstants& constants) {
  if (!sheet.power_w || !sheet.process_nm) return 0;
  constexpr double reference_nm = 16;
  const double sustained = *sheet.power_w * constants.flops_per_joule *
                           std::pow(reference_nm / *sheet.process_nm, constants.process_exponent);
  return sheet.peak.at(SheetFormat::f32).si() / sustained;
}

}  // namespace dlscale::model::sheet
