#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "model/roofline/sheet/step_times.hpp"

namespace dlscale::model {

/// Times of kernels by a data sheet, with all that they depend on, and their interval. Beyond what
/// the constants were fitted to, it is stretched (model/roofline/sheet/domain.hpp).
struct SheetTimes {
  /// Requires sheet::has_kernel_times() of the machine's device.
  SheetTimes(const Network& asked, const Machine& machine, const Run& run);
  SheetTimes(const SheetTimes&) = delete;
  SheetTimes& operator=(const SheetTimes&) = delete;

  const sheet::KernelConstants& constants = sheet::nominal_constants();
  Network network;
  Device device;
  ComputeTraits traits;
  sheet::StepTimes times;
  std::vector<std::string> beyond;  ///< differences from all trainings that were fitted
  sheet::TimeRange range;
};

/// The times of a question. The latest few of a thread are kept, since a sweep over ranks and
/// exchanges asks for the same again and again.
std::shared_ptr<SheetTimes> sheet_times(const Network& network, const Machine& machine,
                                        const Run& run);

}  // namespace dlscale::model
