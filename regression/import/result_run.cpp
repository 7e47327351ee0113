#include "regression/import/result_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/results/communication_profile.hpp"
#include "core/results/usable_rows.hpp"

namespace dlscale::regression::history {
namespace {

/// Axes that describe the launch of a run, not its question.
constexpr std::array<std::string_view, 3> launch_axes{"ranks", "ranks_on_node", "cores_per_rank"};
/// Series of conditions observed beside the times (docs/reference/results, "Conditions of a
/// device").
constexpr std::array<std::string_view, 4> condition_series{"processor_clock", "memory_clock",
                                                           "power", "temperature"};

bool is_tracked(const std::string& benchmark, std::string_view name,
                const dlscale::Series& series) {
  if (series.unit != "s" || series.samples.empty() || series.samples.front().empty()) return false;
  if (benchmark == "e2e") return name.starts_with("t_");
  if (benchmark == "comm" || benchmark == profile_benchmark) return name == "time";
  return name != "witness";
}

/// Words as an unambiguous JSON array.
std::string json_text(const std::vector<std::string>& words) {
  return nlohmann::json(words).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

double nanless(double value) {
  return std::isfinite(value) ? value : 0;
}

/// Medians of the conditions by rank, and the union of the throttle reasons.
std::string extras_of(const Measurement& measurement) {
  nlohmann::json extras = nlohmann::json::object();
  for (const std::string_view name : condition_series) {
    const auto found = measurement.series.find(std::string(name));
    if (found == measurement.series.end()) continue;
    for (const auto& rank : found->second.samples) {
      if (!rank.empty()) extras[std::string(name)].push_back(nanless(median(rank)));
    }
  }
  const auto throttled = measurement.series.find("throttle_reasons");
  if (throttled != measurement.series.end()) {
    for (const auto& rank : throttled->second.samples) {
      std::uint64_t bits = 0;
      for (const double reading : rank) bits |= static_cast<std::uint64_t>(std::max(0.0, reading));
      extras["throttle_reasons"].push_back(bits);
    }
  }
  return extras.empty() ? "" : extras.dump();
}

SeriesKey key_of(const ResultHeader& header, const Measurement& measurement) {
  SeriesKey key;
  key.suite = measurement.benchmark;
  key.axes = measurement.axes;
  key.axes.erase("repeat");
  key.machine = machine_facts(header);
  key.environment = environment_facts(header);
  key.launch = launch_facts(header);
  for (const std::string_view name : launch_axes) {
    const auto found = key.axes.find(std::string(name));
    if (found == key.axes.end()) continue;
    key.launch.insert_or_assign(found->first, found->second);
    key.axes.erase(found);
  }
  key.unit = std::string("s");
  key.direction = Direction::smaller_is_better;
  return key;
}

}  // namespace

Facts machine_facts(const ResultHeader& header) {
  const Environment& environment = header.environment;
  constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
  Facts facts{{"cpu", environment.cpu},
              {"cores", std::to_string(environment.cores)},
              // Rounded to GiB: kernels of one machine reserve slightly different amounts.
              {"memory", fmt::format("{:.0f} GiB", environment.memory_bytes / gibibyte)}};
  for (const auto& [name, value] : environment.libraries) {
    if (name.starts_with("GPU")) facts[name] = value;
  }
  const auto cluster = environment.variables.find("DLSCALE_CLUSTER");
  if (cluster != environment.variables.end()) facts["cluster"] = cluster->second;
  return facts;
}

Facts environment_facts(const ResultHeader& header) {
  const Environment& environment = header.environment;
  Facts facts{{"compiler", environment.compiler},
              {"flags", environment.flags},
              {"governor", environment.governor},
              {"denormals", environment.denormals}};
  for (const auto& [name, value] : environment.libraries) {
    if (!name.starts_with("GPU")) facts[name] = value;
  }
  for (const auto& [name, value] : environment.variables) {
    if (!name.starts_with("DLSCALE_")) facts[name] = value;
  }
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

Facts launch_facts(const ResultHeader& header) {
  Facts facts{{"affinity", header.environment.affinity}};
  for (const char* name : {"ranks", "comm"}) {
    const auto found = header.run.find(name);
    if (found != header.run.end()) facts[name] = found->second;
  }
  return facts;
}

Facts run_facts(const ResultHeader& header) {
  Facts facts{{"host", header.environment.host_hash},
              {"kernel", header.environment.kernel},
              {"load", header.environment.load},
              {"command", json_text(header.command)}};
  const auto build = header.run.find("build");
  if (build != header.run.end()) facts["build"] = build->second;
  return facts;
}

std::string measured_commit(const Environment& environment) {
  if (environment.commit.empty() || environment.commit == "unknown") return "";
  return environment.commit + (environment.dirty ? "-dirty" : "");
}

void add_points(ImportedRun& run, const ResultFile& file) {
  if (!file.complete) {
    run.notes.push_back(
        fmt::format("{} ends early: what was to come after it is missing", file.path.string()));
  }
  for (const Measurement& measurement : file.measurements) {
    if (!is_timed(measurement)) {
      run.notes.push_back(fmt::format("left out: {} is {} ({})", measurement.key(),
                                      status_name(measurement.status), measurement.reason));
      continue;
    }
    SeriesKey key = key_of(file.header, measurement);
    const std::string extras = extras_of(measurement);
    for (const auto& [name, series] : measurement.series) {
      if (!is_tracked(measurement.benchmark, name, series)) continue;
      key.metric = name;
      Point point;
      point.summary = series.summary;
      point.extras = extras;
      run.points.push_back({key, std::move(point)});
    }
  }
  run.facts.merge(run_facts(file.header));
}

}  // namespace dlscale::regression::history
