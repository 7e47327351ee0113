#pragma once
#include <string>

#include "app/predict/parallel/predict_parallel.hpp"

namespace dlscale::app {

/// Writes the time line of an iteration of each plan of a call, for ui.perfetto.dev, completely or
/// not at all. Throws ConfigError for "-", and for an existing file that is not a trace.
void trace_parallel(const ParallelCall& call, const std::string& path);

}  // namespace dlscale::app
