#pragma once
#include <string>
#include <string_view>

#include "regression/history/run.hpp"

namespace dlscale::report::history {

// Results of other programs. Each function takes what `run.content` holds apart and adds points to
// the run; it throws ConfigError without the name of the file, with the line where there is one.
// What a format does not say, of machine, environment and launch, RunOptions has to.

/// What a file says of its origin.
struct Origin {
  std::string commit;  ///< empty: it says none
  std::string time;    ///< as it stands there; empty: it says none
};

/// JSON of Google Benchmark (--benchmark_format=json), version 1.5 or later. Repetitions of a
/// benchmark are the samples of its points, and aggregates count only where there are no
/// repetitions. Metrics: real_time and cpu_time (smaller is better), bytes_per_second and
/// items_per_second (larger); counters of the user's own declare no direction and are left out.
Origin add_google_benchmark(ImportedRun& run);

/// Text of nccl-tests, of any version so far: columns are found by their headings. Metrics of each
/// size, type, operation and root, out of place and in place: time, algbw, busbw. A row with a
/// number of wrong results other than 0 is left out and noted. Launchers' prefixes
/// ("[1,0]<stdout>:") are dropped. Where the text does not name the collective (before
/// version 2.13), the options must:
/// --axis collective=all_reduce.
Origin add_nccl_tests(ImportedRun& run, const RunOptions& options);

/// JSON of hyperfine (--export-json): the times of each command.
Origin add_hyperfine(ImportedRun& run);

/// Log of MLPerf (lines with :::MLLOG): the time from run_start to run_stop of one training that
/// succeeded.
Origin add_mllog(ImportedRun& run);

/// JSON "dlscale.validation" of dlscale validate: of each run, predicted over measured time of the
/// iteration, a series of its own whose shifts tell of the system where the model did not change.
Origin add_validation(ImportedRun& run);

}  // namespace dlscale::report::history
