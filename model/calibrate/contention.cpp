#include "model/calibrate/contention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/results/usable_rows.hpp"
#include "model/fits/fit.hpp"

namespace dlscale::model {
namespace {

/// The widest interval of a rate that is still used.
constexpr double widest = 0.5;
/// The fewest samples of a row.
constexpr std::size_t fewest = 3;
/// Rates that differ by less than this share of the speed alone count as equal.
constexpr double negligible = 0.01;

/// Speeds of work and messages beside each other, relative to those alone.
struct Rates {
  Estimate<double> compute;
  Estimate<double> messages;
};

/// The rates of one size of messages.
struct SizedRates {
  Bytes size;
  Rates rates;
};

using Sizes = std::vector<SizedRates>;

/// The times of a row, sample by sample, each the longest of the ranks.
std::vector<double> longest(const Sourced& row, std::string_view name) {
  const auto found = row.measurement->series.find(std::string(name));
  if (found == row.measurement->series.end() || found->second.unit != "s" ||
      found->second.samples.empty()) {
    throw ConfigError(fmt::format(
        "{}: {} has no series \"{}\" in seconds, without which nothing tells what work and "
        "messages cost each other. Measure again.",
        row.file, row.measurement->key(), name));
  }
  return slowest_rank(found->second.samples);
}

Estimate<double> estimate(const std::vector<double>& values) {
  const Summary summary = summarize(values);
  return {summary.median, summary.ci95_low, summary.ci95_high};
}

/// The rates of one row; empty where work and messages hardly overlapped.
std::optional<Rates> rates(const Sourced& row) {
  const auto work_alone = longest(row, "compute_alone");
  const auto messages_alone = longest(row, "messages_alone");
  const auto together = longest(row, "together");
  const auto work_beside = longest(row, "compute_beside");
  const auto messages_beside = longest(row, "time");
  for (const auto* times : {&messages_alone, &together, &work_beside, &messages_beside}) {
    if (times->size() == work_alone.size()) continue;
    throw ConfigError(fmt::format("{}: {} has series of different lengths. Measure again.",
                                  row.file, row.measurement->key()));
  }
  std::vector<double> compute;
  std::vector<double> messages;
  for (std::size_t i = 0; i < work_alone.size(); ++i) {
    const double apart = std::max(0.0, together[i] - work_beside[i]);
    const double both = messages_beside[i] - apart;
    if (both <= 0) continue;
    compute.push_back((work_alone[i] - (work_beside[i] - both)) / both);
    messages.push_back((messages_alone[i] - (messages_beside[i] - both)) / both);
  }
  if (compute.size() < fewest || 2 * compute.size() < work_alone.size()) return std::nullopt;
  return Rates{estimate(compute), estimate(messages)};
}

/// The median of the medians, between the least and the greatest end of the intervals.
Estimate<double> hull(const std::vector<Estimate<double>>& all) {
  std::vector<double> values;
  Estimate<double> result = all.front();
  for (const Estimate<double>& one : all) {
    values.push_back(one.value);
    result.low = std::min(result.low, one.low);
    result.high = std::max(result.high, one.high);
  }
  result.value = median(values);
  return result;
}

/// The estimate of a rate over several sizes.
Estimate<double> over(const Sizes& sizes, Estimate<double> Rates::*which) {
  std::vector<Estimate<double>> all;
  std::vector<double> values;
  for (const SizedRates& one : sizes) {
    all.push_back(one.rates.*which);
    values.push_back((one.rates.*which).value);
  }
  constexpr std::size_t enough_for_an_interval = 6;
  return values.size() < enough_for_an_interval ? hull(all) : estimate(values);
}

bool is_narrow(const Estimate<double>& rate) {
  return rate.high - rate.low <= widest;
}

/// The rates of each size, ascending, without those whose interval is too wide.
Sizes rates_by_size(const Group& rows) {
  std::map<std::int64_t, std::vector<Rates>> found;
  for (const Sourced& row : rows) {
    if (const auto of_row = rates(row)) found[row.integer("bytes")].push_back(*of_row);
  }
  Sizes sizes;
  for (const auto& [bytes, repeats] : found) {
    std::vector<Estimate<double>> compute;
    std::vector<Estimate<double>> messages;
    for (const Rates& one : repeats) {
      compute.push_back(one.compute);
      messages.push_back(one.messages);
    }
    const Rates pooled{hull(compute), hull(messages)};
    if (!is_narrow(pooled.compute) || !is_narrow(pooled.messages)) continue;
    sizes.push_back({Bytes(static_cast<double>(bytes)), pooled});
  }
  return sizes;
}

/// A rate of 1 or more means that nothing slows down. For a rate near 0 or below, see
/// most_slowdown.
double slowdown(double rate) {
  return 1 / std::clamp(rate, 1 / most_slowdown, 1.0);
}

Estimate<double> slowdown(const Estimate<double>& rate) {
  return {slowdown(rate.value), slowdown(rate.high), slowdown(rate.low)};
}

/// Sizes with the same rates, up to the next stretch.
struct Stretch {
  Bytes from;
  Sizes sizes;
};

/// Whether the intervals of either rate do not overlap.
bool are_apart(const Stretch& a, const Stretch& b) {
  const auto differ = [&](Estimate<double> Rates::*which) {
    const Estimate<double> of_a = over(a.sizes, which);
    const Estimate<double> of_b = over(b.sizes, which);
    return std::max(of_a.low, of_b.low) - std::min(of_a.high, of_b.high) > negligible;
  };
  return differ(&Rates::compute) || differ(&Rates::messages);
}

/// The larger difference of the two rates of two stretches.
double distance(const Stretch& a, const Stretch& b) {
  const auto difference = [&](Estimate<double> Rates::*which) {
    return std::abs(over(a.sizes, which).value - over(b.sizes, which).value);
  };
  return std::max(difference(&Rates::compute), difference(&Rates::messages));
}

/// The boundary between sizes measured at `below` and at `above`: where messages alone change their
/// protocol, else the geometric mean.
Bytes parting(Bytes below, Bytes above, const std::vector<Bytes>& bounds) {
  const auto bound = std::ranges::find_if(
      bounds, [&](Bytes between) { return below < between && between <= above; });
  return bound != bounds.end() ? *bound : Bytes(std::sqrt(below.si() * above.si()));
}

/// Returns one stretch for each size.
std::vector<Stretch> cut(const Sizes& sizes, const std::vector<Bytes>& bounds) {
  std::vector<Stretch> stretches;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Bytes from = i == 0 ? sizes[i].size : parting(sizes[i - 1].size, sizes[i].size, bounds);
    stretches.push_back({from, {sizes[i]}});
  }
  return stretches;
}

/// Joins the nearest neighbours until all remaining stretches are apart.
void join(std::vector<Stretch>& stretches) {
  for (;;) {
    auto nearest = stretches.end();
    for (auto first = stretches.begin(); std::next(first) != stretches.end(); ++first) {
      if (are_apart(*first, *std::next(first))) continue;
      if (nearest == stretches.end() ||
          distance(*first, *std::next(first)) < distance(*nearest, *std::next(nearest))) {
        nearest = first;
      }
    }
    if (nearest == stretches.end()) return;
    const auto second = std::next(nearest);
    nearest->sizes.insert(nearest->sizes.end(), second->sizes.begin(), second->sizes.end());
    stretches.erase(second);
  }
}

std::vector<ContentionRange> ranges(const Sizes& sizes, const std::vector<Bytes>& bounds) {
  std::vector<Stretch> stretches = cut(sizes, bounds);
  join(stretches);
  std::vector<ContentionRange> result;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const Sizes& own = stretches[i].sizes;
    const bool last = i + 1 == stretches.size();
    result.push_back({stretches[i].from, last ? own.back().size : stretches[i + 1].from,
                      slowdown(over(own, &Rates::compute)), slowdown(over(own, &Rates::messages)),
                      static_cast<int>(own.size())});
  }
  return result;
}

/// The conditions that rows of one fit share.
struct Conditions {
  std::string collective;
  int ranks = 0;
  int ranks_on_node = 0;
  std::string waiting;
  WorkKind work = WorkKind::conv;
  int threads = 1;
  int cores_per_rank = 1;
  auto operator<=>(const Conditions&) const = default;
};

int cores_per_rank(const ResultFile& file) {
  const auto found = file.header.run.find("cores_per_rank");
  const std::string text = found == file.header.run.end() ? "" : found->second;
  int cores = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cores);
  if (error == std::errc() && end == text.data() + text.size() && cores >= 1) return cores;
  throw ConfigError(fmt::format(
      "{} does not say how many cores a rank had, and so whether its messages had one beside "
      "the work. Measure again with this version.",
      file.path.string()));
}

WorkKind work_of(const Sourced& row) {
  try {
    return parse_work_kind(row.axis("beside"));
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}: {}. Measure again with this version.", row.file,
                                  row.measurement->key(), error.what()));
  }
}

Conditions conditions(const Sourced& row, const ResultFile& file) {
  const WorkKind work = work_of(row);
  return {row.axis("collective"),
          row.count("ranks"),
          row.count("ranks_on_node"),
          row.axis("waiting"),
          work,
          work == WorkKind::copy ? 1 : row.count("threads"),
          cores_per_rank(file)};
}

bool is_of(const Measurement& row, const char* axis, const std::string& wanted) {
  const auto found = row.axes.find(axis);
  return found == row.axes.end() || found->second == wanted;
}

/// Whether a row beside work is of the chosen backend, or of any if none is chosen, for any cache.
bool is_beside(const Measurement& row, const CalibrateOptions& options) {
  return row.benchmark == "comm" && is_timed(row) && is_sent_beside_work(row) &&
         (options.backend.empty() || is_of(row, "backend", options.backend));
}

bool is_chosen(const Measurement& row, const CalibrateOptions& options) {
  return is_beside(row, options) && is_of(row, "cache", options.message_cache);
}

/// The sizes at which the same messages alone change their protocol.
std::vector<Bytes> bounds(std::span<const CollectiveFit> alone, const Conditions& of) {
  std::vector<Bytes> found;
  for (const CollectiveFit& fit : alone) {
    if (std::tie(fit.collective, fit.ranks, fit.ranks_on_node, fit.waiting) !=
        std::tie(of.collective, of.ranks, of.ranks_on_node, of.waiting)) {
      continue;
    }
    for (const Segment& segment : fit.cost.segments()) found.push_back(segment.to);
    found.pop_back();
  }
  return found;
}

}  // namespace

std::vector<std::string> contention_notes(std::span<const ResultFile> results,
                                          const CalibrateOptions& options) {
  std::map<std::string, int> others;
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      if (!is_beside(row, options) || is_chosen(row, options)) continue;
      ++others[row.axes.at("cache")];
    }
  }
  std::vector<std::string> notes;
  for (const auto& [cache, rows] : others) {
    notes.push_back(
        fmt::format("{} of messages beside work with cache = {} {} left out of what messages and "
                    "work cost each "
                    "other, which is of cache = {}. Choose another message cache to use them.",
                    rows == 1 ? "1 result" : fmt::format("{} results", rows), cache,
                    rows == 1 ? "is" : "are", options.message_cache));
  }
  return notes;
}

std::vector<ContentionFit> fit_contention(std::span<const ResultFile> results,
                                          std::span<const CollectiveFit> alone,
                                          const CalibrateOptions& options) {
  std::map<Conditions, Group> groups;
  for (const ResultFile& file : results) {
    for (const Measurement& measurement : file.measurements) {
      if (!is_chosen(measurement, options)) continue;
      const Sourced row{&measurement, file.path.string()};
      groups[conditions(row, file)].push_back(row);
    }
  }
  std::vector<ContentionFit> fits;
  for (const auto& [of, rows] : groups) {
    const Sizes sizes = rates_by_size(rows);
    if (sizes.empty()) continue;
    fits.push_back({of.collective, of.ranks, of.ranks_on_node, of.waiting, of.work, of.threads,
                    of.cores_per_rank, ranges(sizes, bounds(alone, of)), source(rows)});
  }
  return fits;
}

}  // namespace dlscale::model
