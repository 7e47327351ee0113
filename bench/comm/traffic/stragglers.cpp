#include "bench/comm/traffic/stragglers.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

// One of two ranks in random order is last in nine of ten samples in about one of a hundred cells;
// more rarely for more ranks or samples.
constexpr std::size_t least_samples = 10;
constexpr double least_share = 0.9;
/// A smaller lead does not change conclusions about the cell.
constexpr double least_lead = 0.05;

std::size_t last_of(const RankSamples& samples, std::size_t i) {
  std::size_t last = 0;
  for (std::size_t rank = 1; rank < samples.size(); ++rank) {
    if (samples[rank][i] > samples[last][i]) last = rank;
  }
  return last;
}

/// Excess of the rank over all others.
double lead(const RankSamples& samples, std::size_t rank, std::size_t i) {
  double others = std::numeric_limits<double>::lowest();
  for (std::size_t other = 0; other < samples.size(); ++other) {
    if (other != rank) others = std::max(others, samples[other][i]);
  }
  return samples[rank][i] - others;
}

/// One member of every stay, in seconds.
template <class Part>
RankSamples parts_of(const RankStays& stays, Part part) {
  RankSamples parts;
  for (const auto& of_rank : stays) {
    auto& values = parts.emplace_back();
    for (const CommonStay& stay : of_rank) values.push_back(part(stay).si());
  }
  return parts;
}

/// Text such as "90 % of the samples, by 7 % of their time".
std::string extent(const Straggler& found) {
  return fmt::format("{:.0f} % of the samples, by {:.0f} % of their time", 100 * found.share,
                     100 * found.lead);
}

std::vector<std::string> warning_of_last(const std::optional<Straggler>& found) {
  if (!found) return {};
  return {
      fmt::format("rank {} is last in {}: it sets the time of all. See what else runs on its "
                  "cores, and whether "
                  "its processor or link is slower.",
                  found->rank, extent(*found))};
}

}  // namespace

std::optional<Straggler> find_straggler(const RankSamples& samples, std::span<const double> whole,
                                        double unsure) {
  if (samples.size() < 2 || samples.front().size() < least_samples) return std::nullopt;
  const std::size_t count = samples.front().size();
  EXPECT(whole.size() == count);
  std::vector<std::size_t> times_last(samples.size());
  for (std::size_t i = 0; i < count; ++i) ++times_last[last_of(samples, i)];
  const auto most = std::ranges::max_element(times_last);
  const double share = static_cast<double>(*most) / static_cast<double>(count);
  if (share < least_share) return std::nullopt;
  const auto rank = static_cast<std::size_t>(most - times_last.begin());
  std::vector<double> leads(count);
  std::vector<double> relative(count);
  for (std::size_t i = 0; i < count; ++i) {
    leads[i] = lead(samples, rank, i);
    if (whole[i] > 0) relative[i] = leads[i] / whole[i];
  }
  const double typical = median(relative);
  if (typical < least_lead || median(leads) <= unsure) return std::nullopt;
  return Straggler{.rank = rank, .share = share, .lead = typical};
}

std::vector<std::string> straggler_warnings(const RankSamples& times) {
  if (times.empty()) return {};
  return warning_of_last(find_straggler(times, slowest_rank(times)));
}

std::vector<std::string> slow_rank_warnings(const RankStays& stays, Doing doing, Seconds unsure) {
  const RankSamples entries = parts_of(stays, [](const CommonStay& stay) { return stay.entry; });
  const RankSamples exits = parts_of(stays, [](const CommonStay& stay) { return stay.exit; });
  const std::vector<double> times =
      slowest_rank(parts_of(stays, [](const CommonStay& stay) { return stay.exit - stay.entry; }));
  if (const auto late = find_straggler(entries, times, unsure.si())) {
    return {fmt::format(
        "rank {} starts last in {}: the others wait for it. See what else runs on its cores, and "
        "whether its processor is slower.",
        late->rank, extent(*late))};
  }
  if (doing != Doing::the_same) return {};
  return warning_of_last(find_straggler(exits, times, unsure.si()));
}

std::string slow_rank_remark(std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) {
    const std::size_t end = warning.find(" in ");
    if (!warning.starts_with("rank ") || end == std::string::npos) continue;
    return fmt::format(" ({})", std::string_view(warning).substr(0, end));
  }
  return {};
}

}  // namespace dlscale::bench
