#include "report/comparison/attribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/results/row_keys.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "report/table/run_words.hpp"
#include "report/validation/measured_runs.hpp"

namespace dlscale::report {

namespace {

constexpr std::size_t part_count = iteration_phases.size();
constexpr int share_draws = 400;

/// Total and parts of one iteration, or means of them, s. The last part is the remainder.
struct Split {
  double total = 0;
  std::array<double, part_count> parts{};
};
using SplitIterations = std::vector<Split>;

/// The critical rank waited least for gradients; the others waited for it.
std::size_t critical_rank_of(const Series& exposed, std::size_t iteration) {
  const auto found = std::ranges::min_element(
      exposed.samples, {}, [iteration](const auto& rank) { return rank.at(iteration); });
  return static_cast<std::size_t>(found - exposed.samples.begin());
}

double at(const Measurement& measurement, std::string_view series, std::size_t rank,
          std::size_t iteration) {
  const Series& found = measurement.at(series);
  if (rank >= found.samples.size() || iteration >= found.samples[rank].size()) {
    throw ConfigError(fmt::format(
        "series \"{}\" of the measurement \"{}\" has fewer ranks or iterations than others, so the "
        "phases cannot be told apart. Measure it again.",
        series, measurement.key()));
  }
  return found.samples[rank][iteration];
}

SplitIterations launch_of(const Measurement& measurement) {
  const Series& exposed = measurement.at("t_comm_exposed");
  const Series& total = measurement.at("t_iter");
  SplitIterations launch;
  if (exposed.samples.empty() || total.samples.empty()) return launch;
  for (std::size_t i = 0; i < exposed.samples.front().size(); ++i) {
    const std::size_t rank = critical_rank_of(exposed, i);
    Split split;
    split.total = at(measurement, "t_iter", rank, i);
    double named = 0;
    for (std::size_t part = 0; part + 1 < part_count; ++part) {
      split.parts[part] = at(measurement, iteration_phases[part].series, rank, i);
      named += split.parts[part];
    }
    split.parts.back() = split.total - named;
    launch.push_back(split);
  }
  return launch;
}

/// All launches of one training.
struct Trained {
  std::map<std::string, std::string> axes;
  std::vector<SplitIterations> launches;
};
using Sides = std::map<std::string, Trained>;

/// Whether all phases were timed; a training timed as a whole has no parts.
bool has_all_phases(const Measurement& measurement) {
  return measurement.series.contains("t_iter") &&
         std::ranges::all_of(iteration_phases, [&](const Phase& phase) {
           return measurement.series.contains(std::string(phase.series));
         });
}

Sides collect_trainings(std::span<const ResultFile> files) {
  Sides sides;
  for (const ResultFile& file : files) {
    for (const Measurement& measurement : file.measurements) {
      if (measurement.benchmark != "e2e" || !is_timed(measurement)) continue;
      if (!has_all_phases(measurement)) continue;
      SplitIterations launch = launch_of(measurement);
      if (launch.empty()) continue;
      Trained& trained = sides[key_without(measurement, repeat_axis)];
      trained.axes = measurement.axes;
      trained.axes.erase("repeat");
      trained.launches.push_back(std::move(launch));
    }
  }
  return sides;
}

void add_weighted(Split& sum, const Split& more, double weight) {
  sum.total += weight * more.total;
  for (std::size_t part = 0; part < part_count; ++part) {
    sum.parts[part] += weight * more.parts[part];
  }
}

/// Mean of the middle half by iteration time; of all if there are fewer than four.
Split middle_mean(SplitIterations launch) {
  std::ranges::sort(launch, {}, &Split::total);
  const std::size_t cut = launch.size() / 4;
  const std::size_t kept = launch.size() - 2 * cut;
  Split mean;
  for (std::size_t i = cut; i < cut + kept; ++i) {
    add_weighted(mean, launch[i], 1 / static_cast<double>(kept));
  }
  return mean;
}

Split mean_of(std::span<const SplitIterations> launches) {
  Split mean;
  for (const SplitIterations& launch : launches) {
    add_weighted(mean, middle_mean(launch), 1 / static_cast<double>(launches.size()));
  }
  return mean;
}

/// Draws as many iterations in blocks of successive ones, since neighbours resemble each other.
SplitIterations redrawn(const SplitIterations& launch, std::mt19937& generator) {
  const std::size_t n = launch.size();
  const auto block =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(static_cast<double>(n))));
  std::uniform_int_distribution<std::size_t> first(0, n - block);
  SplitIterations drawn;
  while (drawn.size() < n) {
    const std::size_t start = first(generator);
    for (std::size_t i = 0; i < block && drawn.size() < n; ++i) drawn.push_back(launch[start + i]);
  }
  return drawn;
}

Split redrawn_mean(const std::vector<SplitIterations>& launches, std::mt19937& generator) {
  std::uniform_int_distribution<std::size_t> which(0, launches.size() - 1);
  std::vector<SplitIterations> drawn;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    drawn.push_back(redrawn(launches[which(generator)], generator));
  }
  return mean_of(drawn);
}

/// Changes of the total and then of the parts, over the total before.
using Shares = std::array<double, part_count + 1>;

Shares shares_of(const Split& before, const Split& after) {
  Shares shares{};
  shares[0] = (after.total - before.total) / before.total;
  for (std::size_t part = 0; part < part_count; ++part) {
    shares[part + 1] = (after.parts[part] - before.parts[part]) / before.total;
  }
  return shares;
}

struct Interval {
  double low = 0;
  double high = 0;
};

std::array<Interval, part_count + 1> intervals_of(const std::vector<SplitIterations>& base,
                                                  const std::vector<SplitIterations>& changed) {
  constexpr unsigned seed = 20240601;  // arbitrary: the same data give the same interval
  std::mt19937 generator(seed);
  std::array<std::vector<double>, part_count + 1> drawn;
  for (int draw = 0; draw < share_draws; ++draw) {
    const Split before = redrawn_mean(base, generator);
    const Shares shares = shares_of(before, redrawn_mean(changed, generator));
    for (std::size_t i = 0; i < shares.size(); ++i) drawn[i].push_back(shares[i]);
  }
  std::array<Interval, part_count + 1> intervals;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    intervals[i] = {quantile(drawn[i], 0.025), quantile(drawn[i], 0.975)};
  }
  return intervals;
}

Attribution attribute_run(const std::string& key, const std::vector<SplitIterations>& base,
                          const std::vector<SplitIterations>& changed) {
  const Split before = mean_of(base);
  const Split after = mean_of(changed);
  if (before.total <= 0) {
    throw ConfigError(
        fmt::format("iterations of \"{}\" took no time, so no change has a share of "
                    "them. Measure it again.",
                    key));
  }
  const Shares shares = shares_of(before, after);
  const auto intervals = intervals_of(base, changed);
  Attribution result;
  result.key = key;
  result.before = before.total;
  result.after = after.total;
  result.change = shares[0];
  result.change_low = intervals[0].low;
  result.change_high = intervals[0].high;
  result.launches = static_cast<int>(std::min(base.size(), changed.size()));
  for (std::size_t part = 0; part < part_count; ++part) {
    const Phase& phase = iteration_phases[part];
    result.parts.push_back({std::string(phase.series), std::string(phase.word), before.parts[part],
                            after.parts[part], shares[part + 1], intervals[part + 1].low,
                            intervals[part + 1].high});
  }
  return result;
}

using model::Machine;

auto question_of(const model::KernelTime& kernel) {
  return std::tuple(kernel.kernel, kernel.pass, kernel.dtype, kernel.batch, kernel.threads,
                    kernel.ranks_on_node);
}

/// The kernel whose time changed most, among those that both machines have.
std::string moved_kernel(const Machine& base, const Machine& changed, const Run& run) {
  const model::KernelTime* most = nullptr;
  double most_ratio = 1;
  double longest = 0;
  for (const model::KernelTime& kernel : base.kernels) {
    if (kernel.batch != run.batch || kernel.dtype != run.dtype) continue;
    const auto same = std::ranges::find_if(changed.kernels, [&](const model::KernelTime& other) {
      return question_of(other) == question_of(kernel);
    });
    if (same == changed.kernels.end() || kernel.time.value <= Seconds()) continue;
    const double moved = std::abs((same->time.value - kernel.time.value).si());
    if (moved <= longest) continue;
    longest = moved;
    most = &kernel;
    most_ratio = same->time.value / kernel.time.value;
  }
  if (most == nullptr) return "";
  return fmt::format("{} {} {}", most->kernel, pass_name(most->pass),
                     signed_percent(most_ratio - 1));
}

/// The change of the all-reduce of all gradients of the run.
std::string moved_message(const Machine& base, const Machine& changed, const Network& network,
                          const Run& run) {
  constexpr double bytes_of_f32 = 4;
  const Bytes gradients(bytes_of_f32 * static_cast<double>(network.parameter_count()));
  for (const model::CollectiveFit& fit : base.collectives) {
    if (fit.collective != "all_reduce" || fit.ranks != run.ranks) continue;
    for (const model::CollectiveFit& other : changed.collectives) {
      if (std::tie(other.collective, other.ranks, other.ranks_on_node, other.waiting) !=
          std::tie(fit.collective, fit.ranks, fit.ranks_on_node, fit.waiting)) {
        continue;
      }
      const double ratio = other.time(gradients) / fit.time(gradients);
      return fmt::format("{} of {:.1f} MB on {} {}", fit.collective, gradients.si() * 1e-6,
                         counted(fit.ranks, "rank"), signed_percent(ratio - 1));
    }
  }
  return "";
}

/// A separately measured family, and how to copy it into another machine.
struct Family {
  const char* name;
  void (*put)(Machine& into, const Machine& from);
};

constexpr std::array families{
    Family{"data sheets", [](Machine& into, const Machine& from) { into.cluster = from.cluster; }},
    Family{"kernels", [](Machine& into, const Machine& from) { into.kernels = from.kernels; }},
    Family{"messages",
           [](Machine& into, const Machine& from) {
             into.collectives = from.collectives;
             into.algorithms = from.algorithms;
             into.reduction = from.reduction;
           }},
    Family{"messages and computing at the same time",
           [](Machine& into, const Machine& from) { into.contention = from.contention; }},
    Family{"copies to the device", [](Machine& into, const Machine& from) { into.h2d = from.h2d; }},
    Family{"updates", [](Machine& into, const Machine& from) { into.update = from.update; }},
    Family{"loading", [](Machine& into, const Machine& from) { into.loaders = from.loaders; }},
    Family{"memory", [](Machine& into, const Machine& from) {
             into.memory_bandwidth = from.memory_bandwidth;
           }}};

double iteration(const Network& network, const Machine& machine, const Run& run) {
  return model::predict(network, machine, run, std::array{run.ranks}).front().time.total.si();
}

}  // namespace

std::vector<Attribution> attribute(std::span<const ResultFile> base,
                                   std::span<const ResultFile> changed) {
  const Sides before = collect_trainings(base);
  const Sides after = collect_trainings(changed);
  std::vector<Attribution> all;
  for (const auto& [key, trained] : before) {
    const auto other = after.find(key);
    if (other == after.end()) continue;
    all.push_back(attribute_run(key, trained.launches, other->second.launches));
    all.back().axes = trained.axes;
  }
  return all;
}

std::string attribution_sentence(const Attribution& attribution) {
  std::vector<AttributedPart> parts = attribution.parts;
  std::ranges::stable_sort(parts, std::ranges::greater{},
                           [](const AttributedPart& part) { return std::abs(part.share); });
  constexpr double least = 0.1;
  std::string text = fmt::format("iteration {}", signed_percent(attribution.change));
  double rest = attribution.change;
  const char* separator = ": ";
  for (const AttributedPart& part : parts) {
    const bool is_rest = part.series == iteration_phases.back().series;
    if (is_rest || std::abs(part.share) < least * std::abs(attribution.change)) continue;
    text += fmt::format("{}{} {}", separator, signed_percent(part.share), part.word);
    rest -= part.share;
    separator = ", ";
  }
  return text + fmt::format("{}{} other", separator, signed_percent(rest));
}

PredictedChange predict_change(const Network& network, const Machine& base, const Machine& changed,
                               const Run& run) {
  const double before = iteration(network, base, run);
  PredictedChange result;
  result.change = iteration(network, changed, run) / before - 1;
  result.together = result.change;
  for (const Family& family : families) {
    Machine mixed = base;
    family.put(mixed, changed);
    const double share = iteration(network, mixed, run) / before - 1;
    result.together -= share;
    const std::string name = family.name;
    result.causes.push_back({name, share,
                             name == "kernels"    ? moved_kernel(base, changed, run)
                             : name == "messages" ? moved_message(base, changed, network, run)
                                                  : ""});
  }
  return result;
}

void add_predictions(std::vector<Attribution>& attributions, std::span<const ResultFile> results,
                     const Machine& base, const Machine& changed) {
  const Networks networks = read_networks(results);
  const MeasuredRuns measured = collect_runs(results);
  for (Attribution& attribution : attributions) {
    const auto run = std::ranges::find(measured.runs, attribution.key, &MeasuredRun::key);
    if (run == measured.runs.end()) continue;
    const auto network = networks.find(run->run.network);
    if (network == networks.end()) continue;
    attribution.predicted = predict_change(*network->second, base, changed, run->run);
  }
}

}  // namespace dlscale::report
