#pragma once
#include <string>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// The machine with another GPU in place of the cluster's; hosts and links stay as they are. From
/// data sheets, times follow from the other sheet, with the launch time of the cluster's device. Of
/// a fitted machine
///   kernels  t' = t T'(F, Q) / T(F, Q), T = max(F/π, Q/β) of the two data sheets: as if kernels
///     reached the same share of the ceilings there; with an interval from the least to the
///     greatest of the ratios of π and of β, for which ceiling holds a kernel back is not known;
///   updates by the ratio of β.
/// [D, derived] Kernels in a format that either sheet lacks are left out. `notes` receives what was
/// done. Throws ConfigError where the cluster's device is a processor, where a fitted machine's
/// cluster states no figures of its device to scale by, and where either lacks `dtype` then.
Machine with_device(Machine machine, const DeviceSheet& sheet, DType dtype,
                    std::vector<std::string>& notes);

}  // namespace dlscale::model
