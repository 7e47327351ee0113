#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "regression/history/run.hpp"

namespace dlscale::regression::history {

// Importers of other programs' results. Each function parses `run.content` and adds points to the
// run. It throws ConfigError without the name of the file, with the line where there is one. A text
// that ends with a full stop says what to do.
// RunOptions must supply the machine, environment and launch that a format lacks.

/// A value as text: a string without its quotation marks, anything else as JSON.
std::string value_text(const nlohmann::json& value);

/// Origin of a file, as it states it.
struct Origin {
  std::string commit;  ///< empty: not stated
  std::string time;    ///< as written; empty: not stated
};

/// JSON of Google Benchmark (--benchmark_format=json), version 1.5 or later. Repetitions of a
/// benchmark are the samples of its points; aggregates count only without repetitions. Metrics:
/// real_time and cpu_time (smaller is better), bytes_per_second and items_per_second (larger is
/// better). User counters declare no direction and are left out.
Origin add_google_benchmark(ImportedRun& run);

/// Text of nccl-tests, any version so far; headings identify the columns. Metrics of each size,
/// type, operation and root, out of place and in place: time, algbw, busbw. A row with wrong
/// results is left out and noted. Launchers' prefixes ("[1,0]<stdout>:") are dropped. Text before
/// version 2.16.7 does not name the collective; then the options must: --axis
/// collective=all_reduce.
Origin add_nccl_tests(ImportedRun& run, const RunOptions& options);

/// Text of OSU's micro-benchmarks with a title "# OSU … Test" (5.0 or later): the latency or
/// bandwidth of each size. The text does not state ranks. A size that failed its validation is left
/// out and noted.
Origin add_osu(ImportedRun& run);

/// JSON of hyperfine (--export-json): the times of each command.
Origin add_hyperfine(ImportedRun& run);

/// Log of MLPerf (lines with :::MLLOG): the time from run_start to run_stop of one training that
/// succeeded.
Origin add_mllog(ImportedRun& run);

/// JSON "dlscale.validation": predicted over measured iteration time of each
/// run. Each is a series of its own; with an unchanged model, its shifts reveal changes of the
/// system.
Origin add_validation(ImportedRun& run);

}  // namespace dlscale::regression::history
