#include "model/calibrate/calibrate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/results/usable_rows.hpp"
#include "model/calibrate/contention.hpp"
#include "model/calibrate/graph_launch.hpp"
#include "model/calibrate/measured_on.hpp"
#include "model/calibrate/training_rows.hpp"
#include "model/communication/fit_algorithm.hpp"
#include "model/communication/reduction.hpp"
#include "model/fits/fit.hpp"

namespace dlscale::model {
namespace {

using ByBenchmark = std::map<std::string, Group, std::less<>>;
constexpr std::array used_benchmarks{"conv", "update", "memory", "io", "comm"};

void refuse_end_to_end(const ResultFile& file, const std::string& benchmark) {
  if (benchmark != "e2e") return;
  throw ConfigError(fmt::format(
      "{} holds results of \"e2e\", which predictions are judged on; fitting to them would "
      "make every judgement worthless. Leave the file out.",
      file.path.string()));
}

ByBenchmark sort_out(std::span<const ResultFile> results) {
  ByBenchmark sorted;
  for (const ResultFile& file : results) {
    refuse_end_to_end(file, file.header.benchmark);
    for (const Measurement& measurement : file.measurements) {
      refuse_end_to_end(file, measurement.benchmark);
      const bool used = std::find(used_benchmarks.begin(), used_benchmarks.end(),
                                  measurement.benchmark) != used_benchmarks.end();
      if (used && is_timed(measurement)) {
        sorted[measurement.benchmark].push_back({&measurement, file.path.string()});
      }
    }
  }
  if (sorted.empty()) {
    throw RemediableError(
        fmt::format(
            "no usable result of bench {} among the files given, so there is nothing to fit. "
            "Measure first.",
            fmt::join(used_benchmarks, ", ")),
        {.subject = "conv"});
  }
  return sorted;
}

/// All values of an axis in a group.
std::set<std::string> values(const Group& group, std::string_view axis) {
  std::set<std::string> result;
  for (const Sourced& one : group) result.insert(one.axis(axis));
  return result;
}

Group with(const Group& group, std::string_view axis, const std::string& value) {
  Group result;
  std::copy_if(group.begin(), group.end(), std::back_inserter(result),
               [&](const Sourced& one) { return one.axis(axis) == value; });
  return result;
}

/// The measurements under one of several conditions; empty without any measurement.
Group in_condition(const Group& group, std::string_view axis, const std::string& wanted,
                   std::string_view benchmark, std::string_view setting) {
  Group chosen = with(group, axis, wanted);
  if (chosen.empty() && !group.empty()) {
    throw ConfigError(
        fmt::format("no result of bench {} has {} = {} (there are: {}). Measure it or choose "
                    "another {}.",
                    benchmark, axis, wanted, fmt::join(values(group, axis), ", "), setting));
  }
  return chosen;
}

/// The requested backend, or the only one in the results; empty if nothing was computed.
std::string choose_backend(const ByBenchmark& sorted, const std::string& wanted) {
  if (!wanted.empty()) return wanted;
  std::set<std::string> there;
  for (const auto& [benchmark, group] : sorted) {
    for (const Sourced& one : group) {
      const auto& axes = one.measurement->axes;
      if (const auto found = axes.find("backend"); found != axes.end()) there.insert(found->second);
    }
  }
  if (there.size() > 1) {
    throw ConfigError(
        fmt::format("the results are of several compute backends ({}), which one machine "
                    "cannot mix. Choose one backend.",
                    fmt::join(there, ", ")));
  }
  return there.empty() ? "" : *there.begin();
}

/// The measurements of a backend; empty without any measurement.
Group of_backend(const Group& group, const std::string& wanted) {
  const auto there = values(group, "backend");
  if (there.empty()) return group;
  if (!there.contains(wanted)) {
    throw ConfigError(
        fmt::format("no result is of the compute backend {} (there are: {}). Measure with "
                    "it or choose another.",
                    wanted, fmt::join(there, ", ")));
  }
  return with(group, "backend", wanted);
}

Pass parse_pass(const Sourced& one) {
  const std::string& name = one.axis("pass");
  for (const Pass pass :
       {Pass::forward, Pass::backward_data, Pass::backward_filter, Pass::accumulate}) {
    if (name == pass_name(pass)) return pass;
  }
  throw ConfigError(
      fmt::format("{}: \"{}\" is not a pass. Measure again with this version.", one.file, name));
}

/// The host's time to launch work on the device; empty where the device is the host.
std::optional<Estimate<Seconds>> give_time(const Group& group) {
  Group given;
  std::copy_if(group.begin(), group.end(), std::back_inserter(given),
               [](const Sourced& one) { return one.measurement->series.contains("give"); });
  if (given.empty()) return std::nullopt;
  return pool(given, "give", Range::not_negative, Ranks::each);
}

KernelTime kernel_time(const Group& group) {
  const Sourced& first = group.front();
  KernelTime kernel;
  kernel.kernel = first.axis("kernel");
  kernel.pass = parse_pass(first);
  kernel.dtype = parse_dtype(first.axis("dtype"));
  kernel.batch = first.count("batch");
  kernel.threads = first.count("threads");
  kernel.ranks_on_node = first.count("ranks_on_node");
  kernel.time = pool(group, "time", Range::positive, Ranks::each);
  kernel.give = give_time(group);
  kernel.work = first.measurement->work.value_or(Work{});
  kernel.implementation = first.measurement->implementation;
  kernel.source = source(group);
  return kernel;
}

/// Drops algorithms and layouts that the user named, and values that training does not have. Older
/// results have none of these axes.
Group as_trained(const Group& all) {
  Group kept;
  std::ranges::copy_if(all, std::back_inserter(kept), [](const Sourced& one) {
    const auto& axes = one.measurement->axes;
    const auto algorithm = axes.find("algorithm");
    const bool chosen = algorithm == axes.end() || algorithm->second == "chosen";
    return chosen && has_normal_values(*one.measurement) && !axes.contains("layout");
  });
  return kept;
}

/// The rows of updates from cold caches: training updates after the gradients of all layers have
/// passed through the caches. Older results lack the axis and have no other rows.
Group from_cold_caches(const Group& all) {
  Group kept;
  std::ranges::copy_if(all, std::back_inserter(kept), [](const Sourced& one) {
    const auto cache = one.measurement->axes.find("cache");
    return cache == one.measurement->axes.end() || cache->second == "cold";
  });
  return kept;
}

std::vector<KernelTime> fit_kernels(const Group& all, const CalibrateOptions& options) {
  const Group chosen = in_condition(of_backend(as_trained(all), options.backend), "cache",
                                    options.cache, "conv", "cache");
  std::vector<KernelTime> kernels;
  for (const auto& [key, group] :
       group_by(chosen, {"kernel", "pass", "dtype", "batch", "threads", "ranks_on_node"})) {
    kernels.push_back(kernel_time(group));
  }
  return kernels;
}

/// Times by size, in ascending order.
std::vector<SizedTime> times_by_size(const Group& group, Ranks ranks) {
  std::vector<SizedTime> points;
  for (const auto& [key, same] : group_by(group, {"bytes"})) {
    const Bytes size(static_cast<double>(same.front().integer("bytes")));
    points.push_back({size, pool(same, "time", Range::positive, ranks)});
  }
  std::sort(points.begin(), points.end(),
            [](const SizedTime& a, const SizedTime& b) { return a.size < b.size; });
  return points;
}

Piecewise fit(const Group& group, Ranks ranks, std::string_view what) {
  const auto points = times_by_size(group, ranks);
  if (points.size() < 2) {
    throw ConfigError(
        fmt::format("{}: only one size of {} was measured ({:.0f} B), which does not "
                    "tell latency from bandwidth. Measure several sizes.",
                    group.front().file, what, points.front().size.si()));
  }
  return Piecewise(fit_piecewise(points));
}

/// Fits of copies and of updates.
std::vector<AffineFit> fit_affine_costs(const Group& all, std::string_view what) {
  std::vector<AffineFit> fits;
  for (const auto& [key, group] : group_by(all, {"dtype", "ranks_on_node", "threads"})) {
    const Sourced& first = group.front();
    fits.push_back({first.count("ranks_on_node"), first.count("threads"),
                    parse_dtype(first.axis("dtype")), fit(group, Ranks::each, what), source(group),
                    give_time(group)});
  }
  return fits;
}

void check_one_library(const Group& group) {
  const auto libraries = values(group, "library");
  if (libraries.size() <= 1) return;
  throw ConfigError(fmt::format(
      "the results of bench comm are of several libraries ({}), which one machine cannot mix. "
      "Give those of one.",
      fmt::join(libraries, ", ")));
}

TrainingRows training_rows(const Group& all) {
  TrainingRows rows;
  for (const Sourced& one : all) rows.note(*one.measurement);
  return rows;
}

/// Drops messages of elements, operators, modes or algorithms other than training's.
Group of_training(const Group& all) {
  const TrainingRows rows = training_rows(all);
  Group kept;
  std::ranges::copy_if(all, std::back_inserter(kept),
                       [&](const Sourced& one) { return rows.serves(*one.measurement); });
  return kept;
}

std::vector<CollectiveFit> fit_collectives(const Group& all, const CalibrateOptions& options) {
  check_one_library(all);
  const Group chosen =
      in_condition(of_training(all), "cache", options.message_cache, "comm", "message cache");
  std::vector<CollectiveFit> fits;
  for (const auto& [key, group] :
       group_by(chosen, {"collective", "ranks", "ranks_on_node", "waiting"})) {
    const Sourced& first = group.front();
    if (first.count("ranks") == 1) continue;  // nothing is sent
    fits.push_back({first.axis("collective"), first.count("ranks"), first.count("ranks_on_node"),
                    first.axis("waiting"), fit(group, Ranks::slowest, first.axis("collective")),
                    source(group), std::string(to_string(memory_of(*first.measurement)))});
  }
  return fits;
}

/// Families with training's elements and operation, by the library or by one of our own algorithms.
std::vector<MessageFamily> families_like_training(const Group& all, const MessageOrigin& origin,
                                                  const CalibrateOptions& options) {
  const TrainingRows rows = training_rows(all);
  Group like_training;
  std::ranges::copy_if(all, std::back_inserter(like_training), [&](const Sourced& one) {
    return rows.serves_by_any_algorithm(*one.measurement);
  });
  return message_families(
      in_condition(like_training, "cache", options.message_cache, "comm", "message cache"), origin);
}

/// The common properties of all results with messages: the cores of their hosts, and whether the
/// library chose its algorithms by default.
MessageOrigin origin_of(std::span<const ResultFile> results) {
  MessageOrigin origin;
  origin.by_defaults = true;
  std::vector<int> cores;
  for (const ResultFile& file : results) {
    const auto of_messages = [](const Measurement& row) { return row.benchmark == "comm"; };
    if (std::ranges::none_of(file.measurements, of_messages)) continue;
    const Environment& environment = file.header.environment;
    origin.by_defaults = origin.by_defaults && chooses_by_defaults(environment);
    if (std::ranges::any_of(file.measurements, is_between_hosts)) {
      cores.push_back(cores_of_hosts(environment));
    }
  }
  origin.cores = alike(cores);
  return origin;
}

/// The closed forms of algorithms, each over all numbers of ranks. Our own schedules add with γ. A
/// library adds by a loop of its own, whose cost stays in β.
std::vector<AlgorithmFit> fit_algorithms(const std::vector<MessageFamily>& families,
                                         SecondsPerByte gamma) {
  std::vector<AlgorithmFit> fits;
  for (const MessageFamily& family : families) {
    const auto adding = family.algorithm == "library" ? SecondsPerByte() : gamma;
    if (auto fit = fit_algorithm(family, adding)) fits.push_back(std::move(*fit));
  }
  return fits;
}

/// Uses the fewest loaders: they disturb each other least, and the time per image does not depend
/// on their number.
std::vector<LoaderFit> fit_loaders(const Group& all, const CalibrateOptions& options) {
  const Group from = in_condition(all, "source", options.source, "io", "source");
  std::vector<LoaderFit> fits;
  for (const auto& [key, group] : group_by(from, {"height", "width", "ranks_on_node"})) {
    const auto fewest =
        std::min_element(group.begin(), group.end(), [](const Sourced& a, const Sourced& b) {
          return a.integer("loader_threads") < b.integer("loader_threads");
        });
    const Group chosen = with(group, "loader_threads", fewest->axis("loader_threads"));
    fits.push_back({fewest->count("ranks_on_node"), fewest->count("height"), fewest->count("width"),
                    pool_mean(chosen, "read"), pool_mean(chosen, "decode"),
                    pool_mean(chosen, "augment"), source(chosen)});
  }
  return fits;
}

/// The largest arrays, which exceed all caches, on one rank with the most threads measured.
Group largest_arrays(const Group& group) {
  const auto rank = [](const Sourced& one) {
    return std::tuple(-one.count("ranks_on_node"), one.count("threads"), one.integer("bytes"));
  };
  const auto best =
      std::max_element(group.begin(), group.end(),
                       [&](const Sourced& a, const Sourced& b) { return rank(a) < rank(b); });
  Group chosen;
  std::copy_if(group.begin(), group.end(), std::back_inserter(chosen),
               [&](const Sourced& one) { return rank(one) == rank(*best); });
  return chosen;
}

Estimate<BytesPerSecond> bandwidth(const Group& group) {
  const Sourced& first = group.front();
  if (!first.measurement->work) {
    throw ConfigError(
        fmt::format("{}: {} declares no bytes moved, so no bandwidth follows. Measure "
                    "again with this version.",
                    first.file, first.measurement->key()));
  }
  const Bytes moved = first.measurement->work->bytes;
  const Estimate<Seconds> time = pool(group, "time", Range::positive, Ranks::each);
  return {moved / time.value, moved / time.high, moved / std::max(time.low, Seconds(1e-12))};
}

/// Drops the loops of bench memory --isa, which training does not run.
Group of_compiled_loops(const Group& all) {
  Group kept;
  std::ranges::copy_if(all, std::back_inserter(kept),
                       [](const Sourced& one) { return !one.measurement->axes.contains("isa"); });
  return kept;
}

/// γ from sums of arrays; empty if they were not measured.
std::optional<ReductionTime> reduction_of_memory(const Group& all) {
  Group sums = of_compiled_loops(all);
  std::erase_if(sums, [](const Sourced& one) { return one.axis("operation") != "add"; });
  if (sums.empty()) return std::nullopt;
  const Group largest = largest_arrays(sums);
  const Bytes bytes(static_cast<double>(largest.front().integer("bytes")));
  return reduction_by_memory(pool(largest, "time", Range::positive, Ranks::each), bytes);
}

/// Whether γ is known to ± a half, well enough to be taken out of the cost of messages.
bool is_certain(const ReductionTime& reduction) {
  const Estimate<SecondsPerByte>& gamma = reduction.per_byte;
  return gamma.high - gamma.low <= gamma.value;
}

/// A γ from messages becomes part of the closed forms of our own schedules. Otherwise it is noted
/// and stays in β.
void fit_messages(ByBenchmark& sorted, const MessageOrigin& origin, const CalibrateOptions& options,
                  Machine& machine) {
  const auto families = families_like_training(sorted["comm"], origin, options);
  machine.reduction = reduction_by_difference(families);
  const bool certain = machine.reduction && is_certain(*machine.reduction);
  const auto gamma = certain ? machine.reduction->per_byte.value : SecondsPerByte();
  machine.algorithms = fit_algorithms(families, gamma);
  if (!machine.reduction) machine.reduction = reduction_of_memory(sorted["memory"]);
}

void fit_memory(const Group& all, const CalibrateOptions& options, Machine& machine) {
  for (const auto& [key, group] : group_by(of_compiled_loops(all), {"operation"})) {
    if (key.front() == "h2d") {
      machine.h2d = fit_affine_costs(of_backend(group, options.backend), "the host-to-device copy");
    } else {
      machine.memory_bandwidth[key.front()] = bandwidth(largest_arrays(group));
    }
  }
}

}  // namespace

Machine calibrate(const Cluster& cluster, std::span<const ResultFile> results,
                  const CalibrateOptions& wanted) {
  ByBenchmark sorted = sort_out(results);
  CalibrateOptions options = wanted;
  options.backend = choose_backend(sorted, wanted.backend);
  Machine machine;
  const MessageMemory memory = message_memory(results, options.backend);
  sorted["comm"] = messages_in(memory, sorted["comm"]);
  machine.measured_on = measured_on(results, options.backend, memory);
  machine.cluster = cluster;
  machine.fitted = true;
  machine.kernels = fit_kernels(sorted["conv"], options);
  machine.update =
      fit_affine_costs(of_backend(from_cold_caches(sorted["update"]), options.backend), "update");
  machine.collectives = fit_collectives(sorted["comm"], options);
  fit_messages(sorted, origin_of(results), options, machine);
  // Rows of messages beside work are measured in the host's memory.
  if (memory == MessageMemory::host) {
    machine.contention = fit_contention(results, machine.collectives, options);
  }
  machine.graph_launch = fit_graph_launch(results, options.backend);
  machine.loaders = fit_loaders(sorted["io"], options);
  fit_memory(sorted["memory"], options, machine);
  std::set<std::string> files;
  for (const auto& [benchmark, group] : sorted) {
    for (const Sourced& one : group) files.insert(one.file);
  }
  for (const ResultFile& file : results) {
    const bool told = machine.graph_launch && std::ranges::any_of(file.measurements, is_of_graphs);
    if (told) files.insert(file.path.string());
  }
  machine.sources.assign(files.begin(), files.end());
  return machine;
}

}  // namespace dlscale::model
