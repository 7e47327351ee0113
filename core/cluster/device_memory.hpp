#pragma once
#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"

namespace dlscale {

/// Bytes of a GPU that its driver reports: the gigabytes of its data sheet are gibibytes, less
/// 0.5 %. [what nvidia-smi prints for H100, H200, B200 and GB200, within 0.1 %]
Bytes usable_memory(Bytes printed);
/// The same of a device. Of one without a data sheet, as it is stated; 0 where nothing states it.
Bytes usable_memory(const Device& device);

/// Memory that libraries take beside the allocator, with the ends of its range: a CUDA context with
/// its kernels, and NCCL's channels of a few communicators. [D: 0.5 GiB of context, 0.2 … 1.5 GiB
/// for each communicator that a training of several axes opens]
struct LibraryMemory {
  double bytes = 0;
  double low = 0;
  double high = 0;
};
/// For a rank on a GPU that takes part in `axes` ≥ 0 kinds of groups (data, tensor, stages, …).
LibraryMemory library_memory(int axes);

}  // namespace dlscale
