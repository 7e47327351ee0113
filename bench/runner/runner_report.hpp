#pragma once
#include <benchmark/benchmark.h>

#include <memory>
#include <string_view>

#include "bench/engine/benchmark.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Passes a measurement to Google Benchmark: median as manual time, rates and interval as counters,
/// implementation as label; without times, the reason.
void fill(benchmark::State& state, const Measurement& measurement);

/// Marks a cell that was not measured because the run stopped before it; reporters omit it.
void leave_out(benchmark::State& state);

/// Makes a reporter: "console" (dlscale's own table), "json" or "csv", on standard output by
/// default. cpu_time is 0, as samples are wall-clock times over all threads and ranks. `common` has
/// the axes equal in all rows and is printed above the table, unless it is empty. `rows` selects
/// the table's columns.
std::unique_ptr<benchmark::BenchmarkReporter> make_reporter(
    std::string_view format, std::string common = {}, Benchmark::Rows rows = Benchmark::Rows::any);

/// Makes a reporter for a file, as make_reporter(). Once Google Benchmark has closed it, `lost` is
/// true if some output was not written. `lost` must outlive the reporter.
std::unique_ptr<benchmark::BenchmarkReporter> make_file_reporter(std::string_view format,
                                                                 Benchmark::Rows rows, bool& lost);

/// A reporter without output, for ranks other than 0.
std::unique_ptr<benchmark::BenchmarkReporter> make_silent_reporter();

}  // namespace dlscale::bench
