#include "model/memory/rank_memory.hpp"

#include <algorithm>
#include <utility>

namespace dlscale::model::memory {

const StageMemory& RankMemory::worst(MemoryCounter counter) const {
  return *std::ranges::max_element(
      stages, {}, [&](const StageMemory& stage) { return stage.peak_bytes(counter); });
}

MemoryEstimate peak_of(const StageMemory& memory, const Implementation& way,
                       const LibraryMemory& libraries, MemoryCounter counter) {
  MemoryEstimate estimate;
  // Each moment has its own interval, and the peak is the highest of them, end by end.
  for (const MemoryParts& parts : memory.at) {
    const double all = parts.total(counter);
    const double uncertain = parts.uncertain(counter);
    const bool has_libraries = counter == MemoryCounter::device;
    const LibraryMemory library = has_libraries ? libraries : LibraryMemory{};
    const double fixed = all - uncertain - library.bytes;
    estimate.bytes = std::max(estimate.bytes, all);
    estimate.low =
        std::max(estimate.low, way.fixed_low * fixed + way.low * uncertain + library.low);
    estimate.high =
        std::max(estimate.high, way.fixed_high * fixed + way.high * uncertain + library.high);
  }
  return estimate;
}

MemoryEstimate RankMemory::peak(int stage, MemoryCounter counter) const {
  return peak_of(stages.at(static_cast<std::size_t>(stage)), way, libraries, counter);
}

double RankMemory::update_bytes(int stage) const {
  return stages.at(static_cast<std::size_t>(stage))
      .parts(MemoryMoment::update)
      .total(MemoryCounter::allocated);
}

RankMemory rank_memory(const TransformerShape& shape, const MemorySetup& setup,
                       const Implementation& way) {
  return {.stages = stage_memories(shape, setup, way),
          .way = way,
          .libraries = library_memory(setup.axes())};
}

MemoryVerdict fits(const RankMemory& memory, double device_bytes) {
  const StageMemory& worst = memory.worst(MemoryCounter::device);
  const MemoryEstimate peak = memory.peak(worst.stage, MemoryCounter::device);
  return {.fits = peak.bytes <= device_bytes,
          .margin = device_bytes - peak.bytes,
          .is_sure = (peak.low <= device_bytes) == (peak.high <= device_bytes)};
}

}  // namespace dlscale::model::memory
