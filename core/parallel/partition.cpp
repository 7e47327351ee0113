#include "core/parallel/partition.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::parallel {
namespace {

constexpr double impossible = std::numeric_limits<double>::infinity();

class StageCuts {
 public:
  StageCuts(std::span<const StageLayer> layers, std::size_t stages,
            const std::optional<StageMemory>& memory)
      : layers_(layers), stages_(stages), memory_(memory) {
    for (const StageLayer& layer : layers) {
      for (const double value : {layer.time.si(), layer.message.si()}) {
        EXPECT(std::isfinite(value) && value >= 0);
      }
      times_.push_back(times_.back() + layer.time.si());
    }
  }

  std::vector<std::vector<int>> find(std::span<const double> slacks) {
    const double slowest = least_slowest();
    if (slowest == impossible) return {};
    std::vector<std::vector<int>> cuts;
    for (const double slack : slacks) {
      EXPECT(slack >= 1);
      cuts.push_back(with_least_messages(slack * slowest));
    }
    return cuts;
  }

 private:
  /// Time of layers [first, end) as a stage.
  [[nodiscard]] double time(std::size_t first, std::size_t end) const {
    return times_[end] - times_[first];
  }
  [[nodiscard]] bool fits(std::size_t stage, std::size_t first, std::size_t end) const {
    return !memory_ || memory_->fits(stage, first, end);
  }
  [[nodiscard]] bool is_too_long(std::size_t stage, std::size_t first, std::size_t end) const {
    return memory_ && memory_->is_too_long(stage, first, end);
  }

  struct Ends {
    std::size_t nearest;
    std::size_t farthest;
  };
  /// Where a stage can end: it leaves each later stage a layer, and the last stage leaves none.
  [[nodiscard]] Ends ends_of(std::size_t stage) const {
    const std::size_t later = stages_ - 1 - stage;
    return {later == 0 ? layers_.size() : stage + 1, layers_.size() - later};
  }
  /// Behind the latest layer that a stage can begin with; the first stage begins with layer 0.
  static std::size_t end_of_starts(std::size_t stage, std::size_t end) {
    return stage == 0 ? 1 : end;
  }

  /// The least time of the slowest stage, of all cuts that fit.
  [[nodiscard]] double least_slowest() const {
    const std::size_t count = layers_.size();
    // The least time of the slowest stage, if the stages so far hold the first `end` layers.
    std::vector<double> before(count + 1, impossible);
    before[0] = 0;
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      std::vector<double> now(count + 1, impossible);
      const auto [nearest, farthest] = ends_of(stage);
      for (std::size_t end = nearest; end <= farthest; ++end) {
        for (std::size_t first = end_of_starts(stage, end); first-- > stage;) {
          const double own = time(first, end);
          if (own >= now[end]) break;  // so does a longer run
          if (before[first] == impossible) continue;
          if (is_too_long(stage, first, end)) break;
          if (!fits(stage, first, end)) continue;
          now[end] = std::min(now[end], std::max(before[first], own));
        }
      }
      before = std::move(now);
    }
    return before[count];
  }

  /// The cut with the least messages, none of whose stages takes longer.
  [[nodiscard]] std::vector<int> with_least_messages(double slowest) const {
    const std::size_t count = layers_.size();
    std::vector<double> before(count + 1, impossible);
    before[0] = 0;
    std::vector<std::vector<std::size_t>> firsts;  // of the stage that ends there
    for (std::size_t stage = 0; stage < stages_; ++stage) {
      std::vector<double> now(count + 1, impossible);
      firsts.emplace_back(count + 1, 0);
      const auto [nearest, farthest] = ends_of(stage);
      for (std::size_t end = nearest; end <= farthest; ++end) {
        const double message = end < count ? layers_[end - 1].message.si() : 0;
        for (std::size_t first = end_of_starts(stage, end); first-- > stage;) {
          if (time(first, end) > slowest) break;
          if (before[first] + message >= now[end]) continue;
          if (is_too_long(stage, first, end)) break;
          if (!fits(stage, first, end)) continue;
          now[end] = before[first] + message;
          firsts[stage][end] = first;
        }
      }
      before = std::move(now);
    }
    std::vector<int> lengths(stages_);
    std::size_t end = count;
    for (std::size_t stage = stages_; stage-- > 0;) {
      const std::size_t first = firsts[stage][end];
      lengths[stage] = static_cast<int>(end - first);
      end = first;
    }
    return lengths;
  }

  std::span<const StageLayer> layers_;
  std::size_t stages_;
  const std::optional<StageMemory>& memory_;
  std::vector<double> times_{0.0};  ///< of the first layers, by their number
};

}  // namespace

std::optional<std::vector<int>> cut_into_stages(std::span<const StageLayer> layers, int stages,
                                                const std::optional<StageMemory>& memory) {
  constexpr std::array none{1.0};
  std::vector<std::vector<int>> cuts = cuts_with_slack(layers, stages, none, memory);
  if (cuts.empty()) return std::nullopt;
  return std::move(cuts.front());
}

std::vector<std::vector<int>> cuts_with_slack(std::span<const StageLayer> layers, int stages,
                                              std::span<const double> slacks,
                                              const std::optional<StageMemory>& memory) {
  EXPECT(stages >= 1);
  EXPECT(!memory || (memory->fits && memory->is_too_long));
  if (static_cast<std::size_t>(stages) > layers.size()) return {};
  return StageCuts(layers, static_cast<std::size_t>(stages), memory).find(slacks);
}

}  // namespace dlscale::parallel
