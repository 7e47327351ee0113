#pragma once
#include <filesystem>

#include "core/base/units.hpp"
#include "regression/gate/round.hpp"

namespace dlscale::regression {

/// How a run is measured.
enum class Measure {
  automatic,  ///< by the kind of output in {out}
  results,    ///< result files of dlscale, or a folder of them
  google,     ///< JSON of Google Benchmark
  wall,       ///< wall time of its process
};

/// Reads the values in `out` after a run that took `wall`. A kernel gives the minimum of its
/// repetitions, since disturbances only add time. Training gives the median iteration with its own
/// spread. Throws Error (wrong_result) for a row with a wrong answer, and ConfigError for output of
/// an unknown kind.
RunOutcome read_run(const std::filesystem::path& out, Measure measure, Seconds wall);

}  // namespace dlscale::regression
