#include "bench/e2e/slow_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>

#include "bench/comm/traffic/stragglers.hpp"
#include "core/base/slowest_rank.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

struct OwnPhase {
  const char* series;
  const char* name;
};
/// Phases that do not depend on other ranks.
constexpr std::array own_phases{OwnPhase{"t_io", "in waiting for pictures"},
                                OwnPhase{"t_h2d", "in copying the batch"},
                                OwnPhase{"t_f", "in forward"}, OwnPhase{"t_b", "in backward"},
                                OwnPhase{"t_u", "in the update"}};

RankSamples sum(const std::map<std::string, Series>& series) {
  RankSamples sums = series.at(own_phases.front().series).samples;
  for (const OwnPhase& phase : std::span(own_phases).subspan(1)) {
    const RankSamples& more = series.at(phase.series).samples;
    for (std::size_t rank = 0; rank < sums.size(); ++rank) {
      std::ranges::transform(sums[rank], more[rank], sums[rank].begin(), std::plus());
    }
  }
  return sums;
}

/// Excess of the rank's median time in a phase over all others'.
double lead(const RankSamples& samples, std::size_t rank) {
  double others = 0;
  for (std::size_t other = 0; other < samples.size(); ++other) {
    if (other != rank) others = std::max(others, median(samples[other]));
  }
  return median(samples[rank]) - others;
}

}  // namespace

std::vector<std::string> longest_rank_warnings(const std::map<std::string, Series>& series) {
  const bool timed = std::ranges::all_of(
      own_phases, [&](const OwnPhase& phase) { return series.contains(phase.series); });
  if (!timed) return {};
  const std::optional<Straggler> found =
      find_straggler(sum(series), slowest_rank(series.at("t_iter").samples));
  if (!found) return {};
  const auto most = std::ranges::max_element(own_phases, {}, [&](const OwnPhase& phase) {
    return lead(series.at(phase.series).samples, found->rank);
  });
  return {fmt::format(
      "rank {} computes longest in {:.0f} % of the iterations, by {:.0f} % of their time, most of "
      "it {}: the others wait for its gradients. See what else runs on its cores, and whether its "
      "processor or disk is slower.",
      found->rank, 100 * found->share, 100 * found->lead, most->name)};
}

}  // namespace dlscale::bench
