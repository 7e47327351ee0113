#include "model/published/memory/fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "model/published/memory/predict.hpp"

namespace dlscale::model::memory {
namespace {

/// Sum of |ln(predicted / measured)| over trainings that ran.
double loss_of(const Implementation& way, std::span<const MemoryCase> cases,
               std::span<const MemoryOutcome> outcomes) {
  double sum = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!outcomes[i].peak_bytes) continue;
    const double error = std::log(predict(cases[i], way).peak.bytes / *outcomes[i].peak_bytes);
    sum += std::abs(error);
  }
  return sum;
}

/// A change of all three numbers at once; 64 bytes run ahead count as a factor of 1.
using Direction = std::array<double, 3>;
/// One number each, then the two of ranks that gather tokens against each other.
constexpr std::array<Direction, 4> directions = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 64}, {0, -1, 256}}};

Implementation moved(Implementation way, const Direction& direction, double step) {
  way.fragmentation.alone += direction[0] * step;
  way.fragmentation.shared += direction[1] * step;
  way.fragmentation.run_ahead += direction[2] * step;
  return way;
}

/// Moves by `step` while that lowers the loss, then halves the step.
Implementation search(Implementation way, std::span<const MemoryCase> cases,
                      std::span<const MemoryOutcome> outcomes) {
  double best = loss_of(way, cases, outcomes);
  for (double step = 0.128; step > 0.0005; step /= 2) {
    for (bool improved = true; improved;) {
      improved = false;
      for (const Direction& direction : directions) {
        for (const double change : {step, -step}) {
          const Implementation tried = moved(way, direction, change);
          const double loss = loss_of(tried, cases, outcomes);
          if (loss >= best) continue;
          best = loss;
          way = tried;
          improved = true;
        }
      }
    }
  }
  return way;
}

/// Measured over predicted bytes of activations and loss, at the moment of the predicted peak.
std::vector<double> activation_ratios(const Implementation& way, std::span<const MemoryCase> cases,
                                      std::span<const MemoryOutcome> outcomes) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!outcomes[i].peak_bytes) continue;
    const MemoryCounter counter = cases[i].counter;
    const RankMemory memory = rank_memory(cases[i].shape, cases[i].setup, way);
    const int stage = cases[i].first_rank ? 0 : memory.worst(counter).stage;
    const StageMemory& ranks = memory.stages[static_cast<std::size_t>(stage)];
    const MemoryParts& peak = ranks.parts(ranks.peak(counter));
    const double uncertain = peak.uncertain(counter);
    if (uncertain < 0.1 * peak.total(counter)) continue;
    ratios.push_back((*outcomes[i].peak_bytes - peak.total(counter) + uncertain) / uncertain);
  }
  std::ranges::sort(ratios);
  return ratios;
}

}  // namespace

Implementation fit_fragmentation(const Implementation& start, std::span<const MemoryCase> cases,
                                 std::span<const MemoryOutcome> outcomes) {
  Implementation way = search(start, cases, outcomes);
  const std::vector<double> ratios = activation_ratios(way, cases, outcomes);
  if (ratios.empty()) return way;
  const auto last = static_cast<double>(ratios.size() - 1);
  way.low = std::min(1.0, ratios[static_cast<std::size_t>(std::lround(0.05 * last))]);
  way.high = std::max(1.0, ratios[static_cast<std::size_t>(std::lround(0.95 * last))]);
  return way;
}

}  // namespace dlscale::model::memory
