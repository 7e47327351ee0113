#pragma once
#include <vector>

#include "model/memory/library_memory.hpp"
#include "model/memory/stage_memory.hpp"

namespace dlscale::model::memory {

/// A predicted number of bytes with its 90 % interval.
struct MemoryEstimate {
  double bytes = 0;
  double low = 0;   ///< ≤ bytes
  double high = 0;  ///< ≥ bytes
};

/// Peak of a stage's ranks, whose memory is `memory`. The ranges of activations and loss and of all
/// else are those of the implementation, and that of libraries is theirs.
MemoryEstimate peak_of(const StageMemory& memory, const Implementation& way,
                       const LibraryMemory& libraries, MemoryCounter counter);

/// Memory of a training's ranks.
struct RankMemory {
  std::vector<StageMemory> stages;
  Implementation way;
  LibraryMemory libraries;

  /// The stage whose ranks need most.
  [[nodiscard]] const StageMemory& worst(MemoryCounter counter) const;
  /// Peak of a stage's ranks, as peak_of().
  [[nodiscard]] MemoryEstimate peak(int stage, MemoryCounter counter) const;
  /// Peak of live tensors at the update.
  [[nodiscard]] double update_bytes(int stage) const;
};

/// Requires a setup with equal or stated stages. Throws ConfigError as stage_memories() does.
RankMemory rank_memory(const TransformerShape& shape, const MemorySetup& setup,
                       const Implementation& way);

/// Whether every rank fits.
struct MemoryVerdict {
  bool fits = false;
  double margin = 0;  ///< free bytes at the peak of the worst rank, with libraries; < 0: too little
  /// Whether both ends of the interval give the same verdict.
  bool is_sure = false;
};
MemoryVerdict fits(const RankMemory& memory, double device_bytes);

}  // namespace dlscale::model::memory
