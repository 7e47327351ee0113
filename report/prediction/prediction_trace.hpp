#pragma once
#include <span>
#include <string>

#include "model/sgd_iter/iteration_trace.hpp"

namespace dlscale::report {

/// Predicted iterations as a trace file for Chrome and Perfetto (core/results/trace_event.hpp): one
/// process for each number of ranks, one row for each concurrent resource.
std::string prediction_trace(std::span<const model::IterationTrace> traces);

}  // namespace dlscale::report
