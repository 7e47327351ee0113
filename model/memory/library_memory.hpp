#pragma once

namespace dlscale::model::memory {

/// Memory that libraries take beside the allocator, with the ends of its range: a CUDA context with
/// its kernels, and NCCL's channels of a few communicators.
struct LibraryMemory {
  double bytes = 0;
  double low = 0;
  double high = 0;
};

/// For a rank on a GPU that takes part in `axes` ≥ 0 kinds of groups (data, tensor, stages, …),
/// GiB: 0.5 (0.3 … 1) of context and 0.8 (0.2 … 1.5) for each communicator. Verdicts, waits for
/// memory and CNNs take it. [judgements]
inline LibraryMemory library_memory(int axes) {
  constexpr double gib = 1024.0 * 1024 * 1024;
  return {.bytes = (0.5 + 0.8 * axes) * gib,
          .low = (0.3 + 0.2 * axes) * gib,
          .high = (1.0 + 1.5 * axes) * gib};
}

}  // namespace dlscale::model::memory
