#pragma once
#include <span>
#include <string>

#include "model/sgd_iter/iteration_trace.hpp"

namespace dlscale::report {

/// Predicted iterations as a file that Chrome and Perfetto show (core/results/trace_event.hpp): a process
/// for each number of ranks, a row for each thing that works beside others.
std::string prediction_trace(std::span<const model::IterationTrace> traces);

}  // namespace dlscale::report
