#include "model/parallel/parts/stage_cut.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// Layers of a network from those behind its input: the first stage has the input, too.
std::size_t first_of(std::size_t first) {
  return first == 0 ? 0 : first + 1;
}

FitLevel level_of(const std::vector<int>& lengths, const CutMemory& memory) {
  FitLevel level = FitLevel::surely;
  std::size_t first = 0;
  for (std::size_t stage = 0; stage < lengths.size(); ++stage) {
    const std::size_t end = first + static_cast<std::size_t>(lengths[stage]);
    level = std::max(level, fit_level(memory.need(stage, first, end), memory.device));
    first = end;
  }
  return level;
}

/// Stages that memory allows, if they are to fit at least as surely as `level`.
parallel::StageMemory limits_of(const CutMemory& memory, FitLevel level) {
  return {[&memory, level](std::size_t stage, std::size_t first, std::size_t end) {
            return fit_level(memory.need(stage, first, end), memory.device) <= level;
          },
          [&memory, level](std::size_t stage, std::size_t first, std::size_t end) {
            const PartMemory least =
                memory.sums->least_part(first_of(first), end + 1, memory.live[stage]);
            return fit_level(need_of(least, memory.libraries), memory.device) > level;
          }};
}

/// The quickest of a few cuts; absent if none fits.
std::optional<std::vector<int>> quickest_of(std::span<const parallel::StageLayer> layers,
                                            int stages, const CutTime& time,
                                            const std::optional<parallel::StageMemory>& memory) {
  constexpr std::array slacks{1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0};
  std::optional<std::vector<int>> best;
  Seconds least;
  std::vector<std::vector<int>> cuts = parallel::cuts_with_slack(layers, stages, slacks, memory);
  cuts.erase(std::ranges::unique(cuts).begin(), cuts.end());
  for (std::vector<int>& cut : cuts) {
    const Seconds own = time(cut);
    if (best && own >= least) continue;
    least = own;
    best = std::move(cut);
  }
  return best;
}

}  // namespace

FitLevel fit_level(const memory::MemoryEstimate& need, Bytes device) {
  if (need.high <= device.si()) return FitLevel::surely;
  return need.low <= device.si() ? FitLevel::unsure : FitLevel::never;
}

std::string_view fit_level_text(FitLevel level) {
  switch (level) {
    case FitLevel::surely:
      return "fits surely";
    case FitLevel::unsure:
      return "may fit";
    case FitLevel::never:
      return "does not fit";
  }
  fail_expectation("a level");
}

memory::MemoryEstimate need_of(const PartMemory& part, const memory::LibraryMemory& libraries) {
  return {part.total().si() + libraries.bytes, part.least().si() + libraries.low,
          part.most().si() + libraries.high};
}

memory::MemoryEstimate CutMemory::need(std::size_t stage, std::size_t first,
                                       std::size_t end) const {
  return need_of(sums->part(first_of(first), end + 1, live[stage]), libraries);
}

ChosenCut cut_by_time_and_memory(std::span<const parallel::StageLayer> layers, int stages,
                                 const CutTime& time, const std::optional<CutMemory>& memory) {
  auto quickest = quickest_of(layers, stages, time, {});
  EXPECT(quickest);  // as many layers as stages
  StageCut cut{*std::move(quickest)};
  if (!memory) return {std::move(cut)};
  cut.level = level_of(cut.layers, *memory);
  for (const FitLevel level : {FitLevel::surely, FitLevel::unsure}) {
    if (cut.level <= level) break;
    auto found = quickest_of(layers, stages, time, limits_of(*memory, level));
    if (found) return {{*std::move(found), level}, std::move(cut)};
  }
  return {std::move(cut)};
}

}  // namespace dlscale::model
