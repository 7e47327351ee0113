#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/gate/run_conditions.hpp"
#include "core/base/units.hpp"
#include "regression/statistics/metric.hpp"

namespace dlscale::app {

/// One number of one run: the measured value of one metric.
struct RunValue {
  std::string key;  ///< "gemm kernel=…", without the parts that only distinguish runs of one case
  std::string series;  ///< "time", "t_iter"; "real_time" of Google Benchmark; "wall"
  std::string unit;
  regression::Direction direction = regression::Direction::smaller_is_better;
  regression::RunStatistic statistic = regression::RunStatistic::single;
  double value = 0;
  int samples = 1;    ///< number of samples behind the value
  double spread = 0;  ///< 1.4826 · MAD / median of the samples; 0 for one
};

/// The header of one of the result files that a suite writes.
struct FileFacts {
  std::map<std::string, std::string> machine;  ///< facts that must be equal within a pair
  std::string build;                           ///< build of the program that wrote it
};

/// The output of a run.
struct RunOutcome {
  std::vector<RunValue> values;  ///< positive, sorted by key and series
  /// Facts that must be equal within a pair; may be empty. For several files, these are the facts
  /// that all files agree on, and the maximum of their ranks: steps of a suite without a launcher
  /// have one.
  std::map<std::string, std::string> machine;
  /// Facts that may differ: commit, build, compiler, flags.
  std::map<std::string, std::string> program;
  /// Facts by file name within the run; empty for other programs.
  std::map<std::string, FileFacts> files;
  RunConditions conditions;
  std::vector<std::string> without_times;  ///< keys that were not measured, with the reason
};

/// How a run is measured.
enum class Measure {
  automatic,  ///< by the kind of output in {out}
  results,    ///< result files of dlscale, or a folder of them
  google,     ///< JSON of Google Benchmark
  wall,       ///< wall time of its process
};
/// Throws ConfigError unless the word is auto, results, google or wall.
Measure parse_measure(std::string_view word);

/// Reads the values in `out` after a run that took `wall`. A kernel gives the minimum of its
/// repetitions, since disturbances only add time. Training gives the median iteration with its own
/// spread. Throws Error (wrong_result) for a row with a wrong answer, and ConfigError for output of
/// an unknown kind.
RunOutcome read_run(const std::filesystem::path& out, Measure measure, Seconds wall);

}  // namespace dlscale::app
