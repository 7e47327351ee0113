#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "core/base/statistics.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "regression/import/google/google_file.hpp"
#include "regression/import/google/google_samples.hpp"
#include "regression/import/imports.hpp"

namespace dlscale::regression::history {
namespace {

/// The note on what does not count.
std::string note_text(const GoogleOmission& omission) {
  using Why = GoogleOmission::Why;
  const std::string name = escape_for_terminal(omission.name);
  switch (omission.why) {
    case Why::failed:
      return fmt::format("left out: {} failed ({})", name, escape_for_terminal(omission.message));
    case Why::skipped:
      return fmt::format("left out: {} was skipped{}", name, in_brackets(omission.message));
    case Why::unclear:
      return fmt::format("left out: {}: {}", name, omission.message);
    case Why::no_median:
      return fmt::format("left out: {} has neither repetitions nor a median", name);
    case Why::no_value:
    case Why::impossible:
      break;
  }
  return fmt::format("left out: {} of {} {}", omission.metric->field, name, omission.message);
}

/// Names what does not count. Versions that print one of the two times alone lack the other in all
/// rows.
void add_notes(const GoogleCounted& counted, ImportedRun& run) {
  std::set<std::pair<const GoogleMetric*, std::string>> missing;
  for (const GoogleOmission& omission : counted.left_out) {
    if (omission.why != GoogleOmission::Why::no_value) {
      run.notes.push_back(note_text(omission));
      continue;
    }
    const bool is_printed =
        std::ranges::count(counted.samples, omission.metric, &GoogleSamples::metric) > 0;
    const bool is_new = missing.emplace(omission.metric, omission.name).second;
    if (is_printed && is_new) run.notes.push_back(note_text(omission));
  }
}

SeriesKey context_key(const Facts& context) {
  SeriesKey key;
  key.suite = "Google Benchmark";
  if (const std::string program = google_program(context); !program.empty()) {
    key.axes["program"] = program;
  }
  if (context.contains("num_cpus")) key.machine["cores"] = context.at("num_cpus");
  if (context.contains("caches")) key.machine["caches"] = context.at("caches");
  for (const char* field : {"cpu_scaling_enabled", "aslr_enabled", "library_build_type"}) {
    if (context.contains(field)) key.environment[field] = context.at(field);
  }
  return key;
}

}  // namespace

Origin add_google_benchmark(ImportedRun& run) {
  GoogleFile file = read_google_file(run.content);
  run.notes = std::move(file.notes);
  const GoogleCounted counted = counted_samples(file, google_metrics);
  file.rows = {};  // no memory for both these and the points
  add_notes(counted, run);
  for (const GoogleSamples& samples : counted.samples) {
    SeriesKey key = context_key(file.context);
    key.axes["benchmark"] = samples.name;
    key.metric = samples.metric->field;
    key.unit = samples.metric->unit;
    key.direction = samples.metric->direction;
    Point point;
    point.summary = summarize(samples.values);
    point.rounding = samples.rounding;
    run.points.push_back({std::move(key), std::move(point)});
  }
  for (const char* field : {"host_name", "mhz_per_cpu", "load_avg"}) {
    if (file.context.contains(field)) run.facts[field] = file.context.at(field);
  }
  const auto date = file.context.find("date");
  return {"", date == file.context.end() ? "" : date->second};
}

}  // namespace dlscale::regression::history
