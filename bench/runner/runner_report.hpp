#pragma once
#include <benchmark/benchmark.h>

#include <memory>
#include <string_view>

#include "bench/engine/benchmark.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Hands a measurement to Google Benchmark: median as manual time, rates and interval as counters,
/// the implementation as label; a reason instead of times where there are none.
void fill(benchmark::State& state, const Measurement& measurement);

/// Marks a cell that was not measured because the run stopped before it; reporters leave it out.
void leave_out(benchmark::State& state);

/// "console" (a table of ours), "json" or "csv", writing to standard output until told otherwise.
/// cpu_time is 0 in all of them: the samples are timed on the wall clock, of all threads and ranks.
/// `common`, what is the same in all rows, stands above the table; empty: nothing does. `rows` tell
/// which columns the table has.
std::unique_ptr<benchmark::BenchmarkReporter> make_reporter(
    std::string_view format, std::string common = {}, Benchmark::Rows rows = Benchmark::Rows::any);

/// As make_reporter(), for a file: once the library has ended it, `lost` tells whether a part of
/// what was to be written there did not arrive. `lost` outlives the reporter.
std::unique_ptr<benchmark::BenchmarkReporter> make_file_reporter(std::string_view format,
                                                                 Benchmark::Rows rows, bool& lost);

/// Says nothing: for the ranks other than 0.
std::unique_ptr<benchmark::BenchmarkReporter> make_silent_reporter();

}  // namespace dlscale::bench
