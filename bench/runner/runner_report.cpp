#include "bench/runner/runner_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/comm/traffic/stragglers.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/base/units.hpp"
#include "core/results/bandwidths.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

using Run = benchmark::BenchmarkReporter::Run;
using Runs = std::vector<Run>;

constexpr std::string_view left_out = "not measured: the run stopped before";
constexpr std::string_view no_time =
    "no time: it is about several sizes, which its row of the results has (-o)";

constexpr const char* samples = "samples";
constexpr const char* half_width = "relative_half_width";
constexpr const char* flop_rate = "flop_per_s";
constexpr const char* byte_rate = "bytes_per_s";
constexpr const char* error = "max_relative_error";
constexpr const char* executed_rate = "algorithmic_flop_per_s";
constexpr const char* executed_intensity = "algorithmic_flop_per_byte";
constexpr const char* mean_error = "mean_relative_error";
constexpr const char* workspace = "workspace_bytes";
constexpr const char* creation = "creation_s";
constexpr const char* peak_share = "share_of_peak";
constexpr const char* roofline_share = "share_of_roofline";
constexpr const char* message_rate = "algbw_bytes_per_s";
constexpr const char* bus_rate = "busbw_bytes_per_s";
constexpr const char* wire_rate = "wirebw_bytes_per_s";
constexpr const char* skew = "start_skew_s";
constexpr const char* overlap = "overlap_efficiency";
constexpr const char* counter_names[] = {
    samples,      half_width,    flop_rate,          byte_rate,
    error,        executed_rate, executed_intensity, mean_error,
    workspace,    creation,      peak_share,         roofline_share,
    message_rate, bus_rate,      wire_rate,          skew,
    overlap};

/// The measured runs, with the CPU time, which is not measured, set to 0.
Runs cleaned(const Runs& runs) {
  Runs result;
  for (const Run& run : runs) {
    if (run.error_occurred && run.error_message == left_out) continue;
    result.push_back(run);
    result.back().cpu_accumulated_time = 0;
  }
  return result;
}

template <class Base>
class Cleaned : public Base {
 public:
  void ReportRuns(const Runs& runs) override {  // NOLINT(readability-identifier-naming)
    if (const Runs kept = cleaned(runs); !kept.empty()) Base::ReportRuns(kept);
  }
};

// Google Benchmark may drop its CSV reporter some day; it works while --benchmark_format=csv
// exists.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
/// A CSV table has one set of columns; missing values are "nan".
class Csv : public Cleaned<benchmark::CSVReporter> {
 public:
  void ReportRuns(const Runs& runs) override {  // NOLINT(readability-identifier-naming)
    Runs padded = runs;
    for (Run& run : padded) {
      for (const char* name : counter_names) run.counters.try_emplace(name, std::nan(""));
    }
    Cleaned::ReportRuns(padded);
  }
};
#pragma GCC diagnostic pop

class Silent : public benchmark::BenchmarkReporter {
 public:
  Silent() : nowhere_(nullptr) {
    SetOutputStream(&nowhere_);
    SetErrorStream(&nowhere_);
  }
  bool ReportContext(const Context&) override { return true; }  // NOLINT
  void ReportRuns(const Runs&) override {}                      // NOLINT

 private:
  std::ostream nowhere_;
};

/// Whether a correct row has no single time to show.
bool lacks_time(const Run& run) {
  return run.error_occurred && run.error_message == no_time;
}

/// The name without "/iterations:1/manual_time", which Google Benchmark adds to every name.
std::string short_name(const Run& run) {
  const std::string& name = run.run_name.function_name;
  return run.run_type == Run::RT_Aggregate ? name + "_" + run.aggregate_name : name;
}

std::string time_text(const Run& run) {
  if (lacks_time(run)) return "-";
  if (run.run_type == Run::RT_Aggregate && run.aggregate_unit == benchmark::kPercentage) {
    return fmt::format("{:.2f} %", 100 * run.real_accumulated_time);
  }
  return to_text(Seconds(run.GetAdjustedRealTime() / GetTimeUnitMultiplier(run.time_unit)));
}

constexpr std::string_view tenths = "{:.1f}";
constexpr std::string_view percent = "{:.1f} %";

/// A number of a row in the table.
struct Column {
  std::string_view heading;
  const char* counter;
  std::string_view format;
  double scale;
  int width;
};

/// The text of a number; "-" if the run lacks it. Values too small for the format get two digits,
/// too large ones lose their fraction.
std::string value_text(const Run& run, const Column& column) {
  const auto found = run.counters.find(column.counter);
  if (found == run.counters.end()) return "-";
  const double value = found->second.value * column.scale;
  if (column.format == tenths && value > 0 && value < 0.05) return fmt::format("{:.2g}", value);
  if (column.format == percent && value >= 999.95) return fmt::format("{:.0f} %", value);
  return fmt::format(fmt::runtime(column.format), value);
}

constexpr Column interval_column{"±", half_width, percent, 100, 7};
constexpr Column error_column{"error", error, "{:.0e}", 1, 8};
/// Rates of the requested and of the executed work; error against the reference.
constexpr std::array compute_columns{interval_column, Column{"GFLOP/s", flop_rate, tenths, 1e-9, 9},
                                     Column{"executed", executed_rate, tenths, 1e-9, 9},
                                     Column{"GB/s", byte_rate, tenths, 1e-9, 8}, error_column};
/// Bandwidths as core/results/bandwidths.hpp defines them.
constexpr std::array message_columns{interval_column,
                                     Column{"algbw GB/s", message_rate, "{:.3f}", 1e-9, 11},
                                     Column{"busbw GB/s", bus_rate, "{:.3f}", 1e-9, 11},
                                     Column{"wirebw GB/s", wire_rate, "{:.3f}", 1e-9, 12},
                                     Column{"skew us", skew, "{:.2f}", 1e6, 9},
                                     Column{"overlap", overlap, "{:.2f}", 1, 8},
                                     error_column};

std::span<const Column> columns_of(Benchmark::Rows rows) {
  if (rows == Benchmark::Rows::messages) return message_columns;
  return compute_columns;
}

/// One line per cell: name, time, columns, implementation.
class Table : public benchmark::BenchmarkReporter {
 public:
  Table(std::string common, Benchmark::Rows rows)
      : common_(std::move(common)), columns_(columns_of(rows)) {}
  bool ReportContext(const Context& context) override {  // NOLINT(readability-identifier-naming)
    const std::size_t suffix = std::string_view("/iterations:1/manual_time").size();
    width_ = std::max<std::size_t>(context.name_field_width, suffix + 4) - suffix;
    if (!common_.empty()) GetOutputStream() << "in all rows: " << common_ << "\n";
    GetOutputStream() << fmt::format("{:<{}} {:>10}", "cell", width_, "time");
    for (const Column& column : columns_) {
      GetOutputStream() << fmt::format(" {:>{}}", column.heading, column.width);
    }
    GetOutputStream() << "  implementation\n";
    return true;
  }
  void ReportRuns(const Runs& runs) override {  // NOLINT(readability-identifier-naming)
    for (const Run& run : cleaned(runs)) {
      const bool failed = run.error_occurred && !lacks_time(run);
      GetOutputStream() << (failed ? failure(run) : row(run)) << std::flush;
    }
  }

 private:
  [[nodiscard]] std::string failure(const Run& run) const {
    return fmt::format("{:<{}} {}\n", short_name(run), width_, run.error_message);
  }
  [[nodiscard]] std::string row(const Run& run) const {
    const bool spread = run.run_type == Run::RT_Aggregate;
    std::string text = fmt::format("{:<{}} {:>10}", short_name(run), width_, time_text(run));
    for (const Column& column : columns_) {
      const std::string value = spread ? "-" : value_text(run, column);
      text += fmt::format(" {:>{}}", value, column.width);
    }
    return text + "  " + run.report_label + "\n";
  }

  std::string common_;
  std::span<const Column> columns_;
  std::size_t width_ = 4;
};

void set_counters(benchmark::State& state, const Measurement& measurement, const Summary& time) {
  const auto set = [&state](const char* name, double value) {
    state.counters[name] = benchmark::Counter(value);
  };
  set(samples, static_cast<double>(time.n));
  if (time.n > 1) set(half_width, relative_half_width(time));  // a single sample has no interval
  if (measurement.work && measurement.work->flops > Flops(0)) {
    set(flop_rate, measurement.work->flops.si() / time.median);
  }
  if (measurement.work) set(byte_rate, measurement.work->bytes.si() / time.median);
  if (measurement.max_relative_error) set(error, *measurement.max_relative_error);
  if (measurement.mean_relative_error) set(mean_error, *measurement.mean_relative_error);
  if (measurement.workspace) set(workspace, measurement.workspace->si());
  if (measurement.creation) set(creation, measurement.creation->si());
  if (measurement.share_of_peak) set(peak_share, *measurement.share_of_peak);
  if (measurement.share_of_roofline) set(roofline_share, *measurement.share_of_roofline);
  if (const auto derived = bandwidths(measurement, Seconds(time.median))) {
    set(message_rate, derived->algbw.si());
    if (derived->busbw) set(bus_rate, derived->busbw->si());
    if (derived->wirebw) set(wire_rate, derived->wirebw->si());
  }
  if (const auto apart = measurement.series.find("start_skew"); apart != measurement.series.end()) {
    set(skew, apart->second.summary.median);
  }
  if (const auto both = measurement.series.find("overlap_efficiency");
      both != measurement.series.end()) {
    set(overlap, both->second.summary.median);
  }
  if (const auto& work = measurement.algorithmic_work) {
    set(executed_rate, work->flops.si() / time.median);
    set(executed_intensity, (work->flops / work->bytes).si());
  }
}

/// The time of a cell: "time", or "t_iter" of a training run. Null if it has neither, as several
/// durations, for example the latencies of a sweep, do not have a representative.
const Series* duration(const Measurement& measurement) {
  for (const char* name : {"time", "t_iter"}) {
    const auto found = measurement.series.find(name);
    if (found != measurement.series.end()) return &found->second;
  }
  return nullptr;
}

/// Remark on a row's time for its reader.
std::string remark(const Measurement& measurement) {
  if (measurement.status == Status::unstable) return " (unstable)";
  if (measurement.status != Status::interrupted) return "";
  return measurement.reason.empty() ? " (interrupted)"
                                    : fmt::format(" (interrupted: {})", measurement.reason);
}

/// Reports lost output, as Google Benchmark does not check whether its writes succeed.
class WatchedFile : public benchmark::BenchmarkReporter {
 public:
  WatchedFile(std::unique_ptr<benchmark::BenchmarkReporter> writer, bool& lost)
      : writer_(std::move(writer)), lost_(&lost) {}
  bool ReportContext(const Context& context) override {  // NOLINT(readability-identifier-naming)
    writer_->SetOutputStream(&GetOutputStream());
    writer_->SetErrorStream(&GetErrorStream());
    return writer_->ReportContext(context);
  }
  void ReportRuns(const Runs& runs) override {  // NOLINT(readability-identifier-naming)
    writer_->ReportRuns(runs);
  }
  void Finalize() override {  // NOLINT(readability-identifier-naming)
    writer_->Finalize();
    GetOutputStream().flush();
    *lost_ = !GetOutputStream().good();
  }

 private:
  std::unique_ptr<benchmark::BenchmarkReporter> writer_;
  bool* lost_;
};

}  // namespace

void fill(benchmark::State& state, const Measurement& measurement) {
  const Series* time = duration(measurement);
  if (time == nullptr && is_timed(measurement)) {
    state.SkipWithError(std::string(no_time).c_str());
    state.SetLabel(measurement.implementation + remark(measurement));
    return;
  }
  if (measurement.status == Status::wrong || time == nullptr) {
    state.SkipWithError(
        fmt::format("{}: {}", status_name(measurement.status), measurement.reason).c_str());
    return;
  }
  const Summary& summary = time->summary;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    state.SetIterationTime(summary.median);
  }
  set_counters(state, measurement, summary);
  state.SetLabel(measurement.implementation + remark(measurement) +
                 slow_rank_remark(measurement.warnings));
}

void leave_out(benchmark::State& state) {
  state.SkipWithError(std::string(left_out).c_str());
}

std::unique_ptr<benchmark::BenchmarkReporter> make_reporter(std::string_view format,
                                                            std::string common,
                                                            Benchmark::Rows rows) {
  if (format == "json") return std::make_unique<Cleaned<benchmark::JSONReporter>>();
  if (format == "csv") {
    return std::make_unique<Csv>();
  }
  EXPECT(format == "console");
  return std::make_unique<Table>(std::move(common), rows);
}

std::unique_ptr<benchmark::BenchmarkReporter> make_file_reporter(std::string_view format,
                                                                 Benchmark::Rows rows, bool& lost) {
  return std::make_unique<WatchedFile>(make_reporter(format, {}, rows), lost);
}

std::unique_ptr<benchmark::BenchmarkReporter> make_silent_reporter() {
  return std::make_unique<Silent>();
}

}  // namespace dlscale::bench
