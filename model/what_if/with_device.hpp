#pragma once
#include <string>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// The machine with another GPU in place of the cluster's; hosts and links stay. A machine from
/// data sheets takes its times from the new sheet, with the launch time of the cluster's device. A
/// fitted machine changes:
///   kernels  t' = t T'(F, Q) / T(F, Q), T = max(F/π, Q/β) of the two data sheets: as if kernels
///     reached the same share of both ceilings; the interval spans the ratios of π and of β,
///     because the ceiling that limits a kernel is not known;
///   updates by the ratio of β.
/// [D, derived] Kernels in a format that either sheet lacks are left out. `notes` receives what was
/// done. Throws ConfigError where the cluster's device is a processor. For a fitted machine it also
/// throws where its cluster states no figures of its device, and where either sheet lacks `dtype`.
Machine with_device(Machine machine, const DeviceSheet& sheet, DType dtype,
                    std::vector<std::string>& notes);

}  // namespace dlscale::model
