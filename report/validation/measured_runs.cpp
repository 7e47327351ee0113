#include "report/validation/measured_runs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/results/row_keys.hpp"
#include "core/results/usable_rows.hpp"
#include "core/run/schedule_settings.hpp"
#include "model/fits/fit.hpp"
#include "report/table/run_words.hpp"
#include "report/validation/builds.hpp"

namespace dlscale::report {
namespace {

int integer_axis(const Measurement& measurement, std::string_view name) {
  const std::string& text = measurement.axis(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw ConfigError(fmt::format(
        "axis \"{}\" of the measurement \"{}\" is \"{}\", not a whole number. Measure it again.",
        name, measurement.key(), text));
  }
  return value;
}

Run run_of(const Measurement& measurement) {
  Run run;
  run.network = measurement.axis("network");
  run.cluster = "local";
  run.ranks = integer_axis(measurement, "ranks");
  run.ranks_per_node = integer_axis(measurement, "ranks_on_node");
  run.batch = integer_axis(measurement, "batch");
  run.dtype = parse_dtype(measurement.axis("dtype"));
  run.schedule = parse_schedule(measurement.axis("schedule"));
  read_schedule_axes(measurement.axes, run);
  run.cores_per_rank = integer_axis(measurement, "cores_per_rank");
  run.compute_threads = integer_axis(measurement, "threads");
  run.loader_threads = integer_axis(measurement, "loader_threads");
  run.prefetch = integer_axis(measurement, "prefetch");
  const auto copy = measurement.axes.find("input_copy");
  if (copy != measurement.axes.end()) run.input_copy = parse_input_copy(copy->second);
  const auto launch = measurement.axes.find("launch");
  if (launch != measurement.axes.end()) run.launch = parse_launch(launch->second);
  const auto fusion = measurement.axes.find("fuse");
  if (fusion != measurement.axes.end()) run.fuse_relu = parse_fusion(fusion->second);
  const auto normalise = measurement.axes.find("normalise");
  if (normalise != measurement.axes.end()) {
    run.normalisation = parse_normalisation(normalise->second);
  }
  check(run);
  return run;
}

/// The rank that the others waited for in sample `index`. Requires ≥ 1 rank.
std::size_t critical_rank(const Series& exposed, std::size_t index) {
  const auto earlier = [index](const auto& a, const auto& b) { return a.at(index) < b.at(index); };
  const auto found = std::min_element(exposed.samples.begin(), exposed.samples.end(), earlier);
  return static_cast<std::size_t>(found - exposed.samples.begin());
}

/// Median over iterations of a phase on the critical rank of each iteration.
double critical_median(const Measurement& measurement, std::string_view phase) {
  const Series& exposed = measurement.at("t_comm_exposed");
  const Series& series = measurement.at(phase);
  if (exposed.samples.empty() || series.samples.size() != exposed.samples.size() ||
      series.samples.front().size() != exposed.samples.front().size()) {
    throw ConfigError(fmt::format(
        "series \"{}\" and \"t_comm_exposed\" of the measurement \"{}\" differ in ranks or "
        "iterations, so the phases cannot be told apart. Measure it again.",
        phase, measurement.key()));
  }
  std::vector<double> samples;
  for (std::size_t i = 0; i < series.samples.front().size(); ++i) {
    samples.push_back(series.samples.at(critical_rank(exposed, i)).at(i));
  }
  return median(samples);
}

/// The links over which it sent its gradients.
std::string links_of(const ResultFile& file, const Measurement& measurement) {
  if (!model::is_between_hosts(measurement)) return "";
  return model::links_between_hosts(file.header.environment);
}

using Repeats = std::vector<const Measurement*>;

void join_iterations(MeasuredRun& joined, const Repeats& repeats) {
  for (const Measurement* repeat : repeats) {
    const Summary& summary = repeat->at("t_iter").summary;
    const bool first = joined.t_iter.empty();
    joined.t_iter.emplace_back(summary.median);
    const Seconds low(summary.ci95_low);
    const Seconds high(summary.ci95_high);
    joined.low = first ? low : std::min(joined.low, low);
    joined.high = first ? high : std::max(joined.high, high);
  }
}

Seconds joined_median(const Repeats& repeats, std::string_view series) {
  std::vector<double> medians;
  medians.reserve(repeats.size());
  for (const Measurement* repeat : repeats) medians.push_back(critical_median(*repeat, series));
  return Seconds(median(medians));
}

/// The median over repeats; 0 if a repeat lacks the series.
Seconds median_if_recorded(const Repeats& repeats, std::string_view series) {
  const bool recorded = std::ranges::all_of(repeats, [&](const Measurement* repeat) {
    return repeat->series.contains(std::string(series));
  });
  return recorded ? joined_median(repeats, series) : Seconds{};
}

MeasuredRun join_repeats(const Repeats& repeats, const std::string& links,
                         const std::string& build) {
  const Measurement& first = *repeats.front();
  MeasuredRun joined;
  joined.key = key_without(first, repeat_axis);
  joined.axes = first.axes;
  joined.axes.erase("repeat");
  add_older_axes(joined.axes);
  joined.links = links;
  joined.build = build;
  joined.run = run_of(first);
  join_iterations(joined, repeats);
  for (const Phase& phase : iteration_phases) {
    joined.phases.emplace(phase.series, joined_median(repeats, phase.series));
  }
  joined.load = median_if_recorded(repeats, "t_load");
  joined.hidden_comm = median_if_recorded(repeats, "t_comm_hidden");
  return joined;
}

auto order(const MeasuredRun& measured) {
  const Run& run = measured.run;
  return std::tuple(run.network, run.batch, run.ranks, static_cast<int>(run.schedule), measured.key,
                    measured.links, measured.build);
}

void leave_out(MeasuredRuns& collected, const Measurement& measurement) {
  collected.notes.push_back(fmt::format("left out: {} is {} ({})", measurement.key(),
                                        status_name(measurement.status), measurement.reason));
  if (measurement.status != Status::unsupported) ++collected.not_judged;
}

void leave_out(MeasuredRuns& collected, const std::string& objection) {
  collected.notes.push_back("left out: " + objection);
  ++collected.not_judged;
}

bool has_phases(const Measurement& measurement) {
  const auto phases = measurement.axes.find("phases");
  return phases == measurement.axes.end() || phases->second != "no";
}

/// Leaves out a run that was measured only as a whole; nothing is missing.
void leave_out_whole(MeasuredRuns& collected, const Measurement& measurement) {
  collected.notes.push_back(
      fmt::format("left out: {} was timed as a whole, and predictions are judged phase by phase",
                  measurement.key()));
}

void check_complete(MeasuredRuns& collected, const ResultFile& file) {
  if (file.complete || file.header.benchmark != "e2e") return;
  collected.notes.push_back(
      fmt::format("{} ends early: what was to come after it is left out", file.path.string()));
  ++collected.not_judged;
}

}  // namespace

MeasuredRuns collect_runs(std::span<const ResultFile> results, const Objection& objection) {
  std::map<std::tuple<std::string, std::string, std::string>, Repeats> groups;  // key, links, build
  MeasuredRuns collected;
  Builds builds = builds_of(results);
  collected.notes = std::move(builds.notes);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ResultFile& file = results[i];
    for (const Measurement& measurement : file.measurements) {
      if (measurement.benchmark != "e2e") continue;
      const std::string problem = objection ? objection(file, measurement) : "";
      if (!is_timed(measurement)) {
        leave_out(collected, measurement);
      } else if (!has_phases(measurement)) {
        leave_out_whole(collected, measurement);
      } else if (!problem.empty()) {
        leave_out(collected, problem);
      } else {
        groups[{key_without(measurement, repeat_axis), links_of(file, measurement),
                builds.of_files[i]}]
            .push_back(&measurement);
      }
    }
    check_complete(collected, file);
  }
  for (const auto& [key, repeats] : groups) {
    collected.runs.push_back(join_repeats(repeats, std::get<1>(key), std::get<2>(key)));
  }
  std::ranges::sort(collected.runs, {}, order);
  return collected;
}

}  // namespace dlscale::report
