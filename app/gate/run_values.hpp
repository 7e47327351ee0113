#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/gate/run_conditions.hpp"
#include "core/base/units.hpp"
#include "regression/statistics/direction.hpp"
#include "regression/statistics/run_statistic.hpp"

namespace dlscale::app {

/// One number of one run: what its process measured of one metric.
struct RunValue {
  std::string key;     ///< "gemm kernel=…", without what only tells runs of one case apart
  std::string series;  ///< "time", "t_iter"; "real_time" of Google Benchmark; "wall"
  std::string unit;
  report::Direction direction = report::Direction::smaller_is_better;
  report::RunStatistic statistic = report::RunStatistic::single;
  double value = 0;
  int samples = 1;    ///< that it was made from
  double spread = 0;  ///< 1.4826 · MAD / median of them; 0 for one
};

/// What the header of a result file says, one of the several that a suite writes.
struct FileFacts {
  std::map<std::string, std::string> machine;  ///< what must be alike within a pair
  std::string build;                           ///< of the program that wrote it
};

/// What a run wrote.
struct RunOutcome {
  std::vector<RunValue> values;  ///< positive, sorted by key and series
  /// What must be alike within a pair; may be empty. Of several files what all of them say, and of
  /// their ranks the most: steps of a suite that need no launcher have one.
  std::map<std::string, std::string> machine;
  std::map<std::string, std::string> program;  ///< what may differ: commit, build, compiler, flags
  std::map<std::string, FileFacts> files;      ///< by name within the run; empty of other programs
  RunConditions conditions;
  std::vector<std::string> without_times;  ///< keys that were not measured, and why
};

/// How a run is measured.
enum class Measure {
  automatic,  ///< by what it wrote to {out}
  results,    ///< result files of dlscale, or a folder of them
  google,     ///< JSON of Google Benchmark
  wall,       ///< its process, from start to end
};
/// Throws ConfigError for another word than auto, results, google, wall.
Measure parse_measure(std::string_view word);

/// What stands in `out` after a run that took `wall`. Kernels give the minimum of their repetitions
/// (what disturbs them only ever adds time), training the median iteration, whose spread is its
/// own. Throws Error (wrong_result) for a row that is wrong, and ConfigError for what is none of
/// the kinds above.
RunOutcome read_run(const std::filesystem::path& out, Measure measure, Seconds wall);

}  // namespace dlscale::app
