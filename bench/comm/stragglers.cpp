#include "bench/comm/stragglers.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "core/statistics.hpp"

namespace dlscale::bench {
namespace {

// Of two ranks that take turns at random, one is last in nine of ten samples once in a hundred
// cells, and rarer the more ranks or samples there are.
constexpr std::size_t least_samples = 10;
constexpr double least_share = 0.9;
/// Less than this changes no conclusion about the cell.
constexpr double least_lead = 0.05;

using Samples = std::vector<std::vector<double>>;

std::size_t last_of(const Samples& samples, std::size_t i) {
  std::size_t last = 0;
  for (std::size_t rank = 1; rank < samples.size(); ++rank) {
    if (samples[rank][i] > samples[last][i]) last = rank;
  }
  return last;
}

/// How much longer than all others the rank took, over its own time.
double lead(const Samples& samples, std::size_t rank, std::size_t i) {
  double others = 0;
  for (std::size_t other = 0; other < samples.size(); ++other) {
    if (other != rank) others = std::max(others, samples[other][i]);
  }
  return (samples[rank][i] - others) / samples[rank][i];
}

}  // namespace

std::vector<std::string> straggler_warnings(const Samples& samples) {
  if (samples.size() < 2 || samples.front().size() < least_samples) return {};
  const std::size_t count = samples.front().size();
  std::vector<std::size_t> times_last(samples.size());
  for (std::size_t i = 0; i < count; ++i) ++times_last[last_of(samples, i)];
  const auto most = std::ranges::max_element(times_last);
  const double share = static_cast<double>(*most) / static_cast<double>(count);
  if (share < least_share) return {};
  const auto rank = static_cast<std::size_t>(most - times_last.begin());
  std::vector<double> leads(count);
  for (std::size_t i = 0; i < count; ++i) leads[i] = lead(samples, rank, i);
  const double typical = summarize(leads).median;
  if (!(typical >= least_lead)) return {};
  return {fmt::format(
      "rank {} is last in {:.0f} % of the samples, by {:.0f} % of their time: it sets the time of "
      "all. See what else runs on its cores, and whether its processor or link is slower.",
      rank, 100 * share, 100 * typical)};
}

}  // namespace dlscale::bench
