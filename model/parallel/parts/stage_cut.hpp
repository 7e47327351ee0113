#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/parallel/partition.hpp"
#include "model/memory/library_memory.hpp"
#include "model/memory/rank_memory.hpp"
#include "model/parallel/parts/part_memory.hpp"

namespace dlscale::model {

/// The verdict on a need, the best first.
enum class FitLevel {
  surely,  ///< it fits at both ends of its range
  unsure,  ///< at the low end alone
  never,   ///< at neither
};
FitLevel fit_level(const memory::MemoryEstimate& need, Bytes device);
std::string_view fit_level_text(FitLevel level);  ///< "fits surely", "may fit" or "does not fit"

/// Memory of a part with libraries, and the ends of its range.
memory::MemoryEstimate need_of(const PartMemory& part, const memory::LibraryMemory& libraries);

/// Memory that the stages of a pipeline may need. `sums` outlives it.
struct CutMemory {
  const LayerSums* sums = nullptr;
  std::vector<int> live;  ///< by stage: pieces in flight
  memory::LibraryMemory libraries = {};
  Bytes device;  ///< > 0: of each rank
  [[nodiscard]] memory::MemoryEstimate need(std::size_t stage, std::size_t first,
                                            std::size_t end) const;
};

/// The time of a pipeline whose stages have so many layers.
using CutTime = std::function<Seconds(const std::vector<int>& layers)>;

/// A cut of a network, and how surely its stages fit.
struct StageCut {
  std::vector<int> layers;  ///< of each stage
  FitLevel level = FitLevel::never;
};
struct ChosenCut {
  StageCut cut;
  std::optional<StageCut> quicker = {};  ///< which memory keeps from being chosen
};

/// The quickest cut by `time` of a few among those that fit surely; else among those that may fit;
/// else among all. The few have the least messages whose slowest stage takes at most 1, 1.02, …
/// times as long as it could (cuts_with_slack()). `layers` are those behind the input, which
/// belongs to the first stage. Without memory, of all cuts.
ChosenCut cut_by_time_and_memory(std::span<const parallel::StageLayer> layers, int stages,
                                 const CutTime& time, const std::optional<CutMemory>& memory);

}  // namespace dlscale::model
