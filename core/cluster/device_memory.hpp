#pragma once
#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"

namespace dlscale {

/// Bytes of a GPU that its driver reports: the gigabytes of its data sheet are gibibytes, less
/// 0.5 %. [what nvidia-smi prints for H100, H200, B200 and GB200, within 0.1 %]
Bytes usable_memory(Bytes printed);
/// The same of a device. Of one without a data sheet, as it is stated; 0 where nothing states it.
Bytes usable_memory(const Device& device);

}  // namespace dlscale
