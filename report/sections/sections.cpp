#include "report/sections/sections.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/results/communication_profile.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/comparison/side_by_side.hpp"
#include "report/figure/figures.hpp"
#include "report/kernels/algorithm_tables.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/kernels/kernel_tables.hpp"
#include "report/kernels/processor_tables.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/prediction/prediction_table.hpp"
#include "report/results/environment_rows.hpp"
#include "report/results/rates.hpp"
#include "report/results/step_parts.hpp"
#include "report/sections/history_section.hpp"
#include "report/sections/quality.hpp"
#include "report/sections/report.hpp"
#include "report/sections/summary.hpp"
#include "report/table/run_words.hpp"
#include "report/validation/validation_table.hpp"

namespace dlscale::report {

namespace {

constexpr std::size_t most_remarks = 5;  ///< per benchmark
constexpr std::size_t most_step_rows = 500;

using PredictedCurve = std::vector<model::Prediction>;

Table measured_speedups(const Validation& validation) {
  Table table;
  table.title = "Speed-up, measured and predicted";
  table.columns = {{"network", Align::left},
                   {"schedule", Align::left},
                   {"batch"},
                   {"ranks"},
                   {"measured"},
                   {"predicted"}};
  for (const RunValidation& run : validation.runs) {
    if (!run.naive_error) continue;
    const double measured = run.run.ranks * (1 + *run.naive_error);
    table.rows.push_back({{run.run.network},
                          {schedule_text(run.run)},
                          {std::to_string(run.run.batch)},
                          {std::to_string(run.run.ranks)},
                          {significant(measured, 3)},
                          {significant(run.prediction.speedup, 3)}});
  }
  table.notes = {"over 1 rank with the same batch per rank"};
  return table;
}

/// Differing properties only, with the files of each value.
Table differences_table(std::span<const ResultFile> results) {
  Table table;
  table.title = "In what the result files differ";
  table.columns = {{"property", Align::left}, {"value", Align::left}, {"files", Align::left}};
  constexpr std::size_t most_named = 4;
  for (const EnvironmentDifference& difference : environment_differences(results)) {
    for (const auto& [value, files] : difference.files) {
      const auto named = std::span(files).first(std::min(most_named, files.size()));
      std::string text = fmt::format("{}", fmt::join(named, ", "));
      if (files.size() > most_named) text += fmt::format(" and {} more", files.size() - most_named);
      table.rows.push_back(
          {{difference.property}, {value.empty() ? "not recorded" : value}, {text}});
    }
  }
  return table;
}

Table environment_table(std::span<const ResultFile> results) {
  Table table;
  table.title = "Where and with what it was measured";
  table.columns = {{"", Align::left}, {"value", Align::left}};
  table.columns[0].heading = "property";
  for (const auto& [name, value] : joined_environment(results)) {
    table.rows.push_back({{name}, {value}});
  }
  return table;
}

/// Axes of a row in words; omits empty ones.
std::string question_of(const Measurement& measurement) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : measurement.axes) {
    if (!value.empty()) parts.push_back(name + "=" + value);
  }
  return fmt::format("{}", fmt::join(parts, " "));
}

/// One row for each measurement: its main median and interval.
Table measurements_table(std::span<const ResultFile> results) {
  Table table;
  table.columns = {{"benchmark", Align::left},
                   {"measurement", Align::left},
                   {"median"},
                   {"from"},
                   {"to"},
                   {"samples"},
                   {"status", Align::left}};
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      std::vector<Cell> cells{{row.benchmark}, {question_of(row)}, {""}, {""}, {""}, {""}, {""}};
      const auto time = row.series.find(row.benchmark == "e2e" ? "t_iter" : "time");
      if (time != row.series.end() && time->second.unit == "s") {
        const Summary& summary = time->second.summary;
        cells[2].text = to_text(Seconds(summary.median));
        cells[3].text = to_text(Seconds(summary.ci95_low));
        cells[4].text = to_text(Seconds(summary.ci95_high));
        cells[5].text = std::to_string(summary.n);
      }
      cells[6].text = std::string(status_name(row.status));
      table.rows.push_back(std::move(cells));
    }
  }
  table.title = fmt::format("{}, with medians and their 95 % intervals",
                            counted(static_cast<long long>(table.rows.size()), "measurement"));
  return table;
}

Table files_table(std::span<const ResultFile> results) {
  Table table;
  table.title = "Result files";
  table.columns = {{"file", Align::left},
                   {"benchmark", Align::left},
                   {"measurements"},
                   {"command", Align::left}};
  const std::vector<std::string> shown = shown_names(results);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ResultFile& file = results[i];
    table.rows.push_back({{shown[i]},
                          {file.header.benchmark},
                          {std::to_string(file.measurements.size())},
                          {fmt::format("{}", fmt::join(file.header.command, " "))}});
  }
  return table;
}

void append_or_fold(Section& section, Table table) {
  if (table.rows.size() > most_unfolded_rows) {
    append_folded(section, std::move(table));
  } else if (!table.rows.empty() || !table.notes.empty()) {
    section.blocks.emplace_back(std::move(table));
  }
}

void append_roofline(Section& section, const KernelStudy& study) {
  section.blocks.emplace_back(FigureSlot{"crossover"});
  section.blocks.emplace_back(FigureSlot{"roofline"});
  if (!study.roofline()) {
    section.blocks.emplace_back(Paragraph{"No roofline: " + study.obstacle()});
    return;
  }
  for (Table& table : ceiling_tables(*study.roofline(), study.placed())) {
    append_or_fold(section, std::move(table));
  }
}

}  // namespace

Section errors_section(const ReportInput& input) {
  Section section{"errors", "Errors of the prediction", {}};
  section.blocks.emplace_back(Paragraph{verdict_sentence(input.validation, input.limits)});
  section.blocks.emplace_back(errors_table(input.validation, input.limits));
  if (!input.validation.orders.empty()) {
    section.blocks.emplace_back(orders_table(input.validation, input.limits));
  }
  return section;
}

Section steps_section(const ReportInput& input) {
  Section section{"steps",
                  "Where the time of a step goes",
                  {FigureSlot{"step_stack"}, FigureSlot{"stragglers"}}};
  const std::vector<StepParts> runs = step_parts(input.results);
  if (runs.empty()) {
    section.blocks.emplace_back(Paragraph{"No training run was measured phase by phase."});
  } else {
    section.blocks.emplace_back(Folded{step_table(runs, most_step_rows)});
  }
  return section;
}

Section side_by_side_section(const ReportInput& input) {
  Section section{"side-by-side", "Side by side", {}};
  for (Table& table : side_by_side_tables(input.side_by_side)) {
    if (table.rows.size() <= most_unfolded_rows) {
      section.blocks.emplace_back(std::move(table));
    } else {
      append_folded(section, std::move(table));
    }
  }
  return section;
}

Section files_section(const ReportInput& input) {
  return {"files", "Result files", {files_table(input.results)}};
}

Section raw_section(const ReportInput& input) {
  return {"raw", "Everything measured", {RawRows{measurements_table(input.results)}}};
}

Section validation_section(const ReportInput& input) {
  Section section{
      "validation",
      "Predicted against measured",
      {FigureSlot{"phases"}, runs_table(input.validation), phases_table(input.validation)}};
  return section;
}

Section speedup_section(const ReportInput& input) {
  Section section{"speedup", "Speed-up", {FigureSlot{"speedup"}}};
  if (Table all = speedups_table(input); !all.rows.empty()) {
    section.blocks.emplace_back(std::move(all));
  }
  Table measured = measured_speedups(input.validation);
  if (!measured.rows.empty()) section.blocks.emplace_back(std::move(measured));
  for (const PredictedCurve& curve : input.curves) {
    for (Table& table : prediction_tables(curve)) section.blocks.emplace_back(std::move(table));
  }
  return section;
}

Section environment_section(const ReportInput& input) {
  Section section{"environment", "Environment and how it was made", {}};
  if (Table differences = differences_table(input.results); !differences.rows.empty()) {
    section.blocks.emplace_back(std::move(differences));
  }
  constexpr std::size_t most_files = 40;
  section.blocks.emplace_back(Folded{environment_table(input.results)});
  Table files = files_table(input.results);
  if (files.rows.size() > most_files) {
    section.blocks.emplace_back(Folded{std::move(files)});
  } else {
    section.blocks.emplace_back(std::move(files));
  }
  return section;
}

Section warnings_section(const ReportInput& input) {
  Items items{input.left_out};
  for (const std::string& note : input.validation.notes) items.lines.push_back(note);
  std::map<std::string, std::vector<Measurement>> benchmarks;
  const std::vector<std::string> shown = shown_names(input.results);
  for (std::size_t i = 0; i < input.results.size(); ++i) {
    const ResultFile& file = input.results[i];
    std::vector<Measurement>& all = benchmarks[file.header.benchmark];
    all.insert(all.end(), file.measurements.begin(), file.measurements.end());
    if (!file.complete) {
      items.lines.push_back(shown[i] + " ends early: a crash or a signal stopped the benchmark");
    }
  }
  for (const auto& [benchmark, measurements] : benchmarks) {
    for (const std::string& remark : remarks(measurements, most_remarks)) {
      items.lines.push_back(fmt::format("{}: {}", benchmark, remark));
    }
  }
  if (items.lines.empty()) items.lines.emplace_back("None.");
  return {"warnings", "Warnings", {std::move(items)}};
}

bool has_benchmark(std::span<const ResultFile> results,
                   std::initializer_list<std::string_view> benchmarks) {
  return std::ranges::any_of(results, [&](const ResultFile& file) {
    return std::ranges::find(benchmarks, file.header.benchmark) != benchmarks.end();
  });
}

bool tells_of_parts(std::span<const ResultFile> results) {
  return compares_algorithms(results) ||
         has_benchmark(results, {"latency", "peak", "comm", "gemm", profile_benchmark});
}

std::vector<Table> convolution_summary(const ReportInput& input) {
  return {algorithms_table(input.results, *input.kernels), answers_table(input.results)};
}

Section convolution_section(const ReportInput& input) {
  Section section{"convolutions", "Convolutions by algorithm", {}};
  section.blocks.emplace_back(Paragraph{fastest_sentence(input.results)});
  for (Table& table : convolution_summary(input)) append_or_fold(section, std::move(table));
  append_roofline(section, *input.kernels);
  section.blocks.emplace_back(
      Paragraph{"Every algorithm, layer by layer, with speed, workspace, errors and what ran:"});
  for (auto& [set, tables] : tables_by_set(input.results, *input.kernels)) {
    section.blocks.emplace_back(Appendix{set, std::move(tables)});
  }
  return section;
}

Section processor_section(const ReportInput& input) {
  Section section{"processor", "Caches, memory and arithmetic", {}};
  try {
    processor_of(input.results);
  } catch (const ConfigError& error) {
    section.blocks.emplace_back(Paragraph{std::string("No tables: ") + error.what()});
    return section;
  }
  section.blocks.emplace_back(FigureSlot{"latency"});
  for (Table& table : processor_tables(input.results)) {
    section.blocks.emplace_back(std::move(table));
  }
  return section;
}

/// The sections on other results than these.
std::vector<Section> first_sections(const ReportInput& input) {
  std::vector<Section> sections;
  if (!input.suites.empty()) sections.push_back(suite_section(input));
  if (input.side_by_side.columns.size() > 1) sections.push_back(side_by_side_section(input));
  if (input.history) sections.push_back(history_section(*input.history));
  return sections;
}

std::vector<Section> report_sections(const ReportInput& input) {
  std::vector<Section> sections = first_sections(input);
  if (input.trained) {
    for (Section& section :
         std::array{errors_section(input), validation_section(input), speedup_section(input),
                    steps_section(input), machine_section(input.machine)}) {
      sections.push_back(std::move(section));
    }
  } else if (has_benchmark(input.results, {"e2e"})) {
    sections.push_back(steps_section(input));
  }
  if (!input.trained && has_benchmark(input.results, {"comm"})) {
    sections.push_back(messages_section(input));
  }
  if (has_benchmark(input.results, {profile_benchmark})) {
    sections.push_back(communication_section(input));
  }
  if (input.kernels) sections.push_back(convolution_section(input));
  const bool memory_alone = !input.trained && has_benchmark(input.results, {"memory"});
  if (input.kernels || memory_alone || has_benchmark(input.results, {"latency", "peak"})) {
    sections.push_back(processor_section(input));
  }
  sections.push_back(quality_section(input));
  sections.push_back(warnings_section(input));
  sections.push_back(environment_section(input));
  sections.push_back(raw_section(input));
  return sections;
}

Figures report_figures(const ReportInput& input) {
  Figures figures;
  const auto append = [&figures](std::optional<Figure> figure) {
    if (figure) figures.push_back(std::move(*figure));
  };
  append(figure::step_stack(input.results));
  append(figure::straggler_map(input.results));
  if (input.trained) {
    append(figure::phase_bars(input.validation));
    append(figure::scaling(input.curves, input.validation));
    append(figure::bus_bandwidth(input.results, input.machine.collectives));
  } else {
    append(figure::bus_bandwidth(input.results, {}));
  }
  append(figure::message_crossover(input.results));
  if (input.kernels) append(figure::roofline(*input.kernels));
  append(figure::convolution_crossover(input.results));
  append(figure::latency(input.results));
  if (input.history) append(history_figure(*input.history));
  return figures;
}

std::vector<std::string> figure_files() {
  return {"step_stack.svg", "stragglers.svg",       "phases.svg",    "speedup.svg",
          "allreduce.svg",  "roofline.svg",         "latency.svg",   "history.svg",
          "forest.svg",     "paired.svg",           "iteration.svg", "front.svg",
          "waterfall.svg",  "memory.svg",           "standings.svg", "pipeline.svg",
          "crossover.svg",  "message_crossover.svg", "noise.svg"};
}

}  // namespace dlscale::report
