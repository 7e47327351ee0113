#pragma once
#include <span>
#include <string>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// Which of several conditions to fit. They are never mixed.
struct CalibrateOptions {
  std::string cache = "cold";          ///< axis "cache" of bench conv: where the operands lie
  std::string message_cache = "cold";  ///< axis "cache" of bench comm
  std::string source = "page_cache";   ///< axis "source" of bench io: where pictures come from
  std::string backend = {};            ///< compute backend; empty: the only one in the results
};

/// Fits a machine to the results of bench conv, update, memory, io and comm. Files of "e2e" (what
/// predictions are judged on) are refused with ConfigError. Only measurements with status ok or
/// unstable are used. Repeated measurements of one key, in one or several files, count as one: the
/// median of their medians, between the least and the greatest end of their intervals.
/// Messages are those between memories in which gradients lie (message_memory.hpp).
/// Collectives, copies and updates: piecewise α-β by weighted least squares on relative error,
/// breakpoints chosen by exact search with a penalty for each further segment (see fit.hpp).
/// Messages also by the closed forms of their algorithms over all numbers of ranks, those carried
/// out by our own algorithms too (communication/fit_algorithm.hpp). γ from the difference of reduce
/// and broadcast by our own algorithms, and only of these is it told from β: it is the cost of
/// their loops; else from sums in memory (communication/reduction.hpp). What messages and work at
/// the same time cost each other, from the rows that measured both, which tell nothing of messages
/// alone (calibrate/contention.hpp). Series "give" of kernels,
/// copies and updates, where there is one: the host's time to give the work; of graphs of kernels,
/// from the rows of bench device that are of them (calibrate/graph_launch.hpp). Results of
/// different processors, hosts, links between hosts, compute backends or versions of a library do
/// not make one machine: ConfigError. Throws ConfigError that names file and key for results that
/// do not fit together.
Machine calibrate(const Cluster& cluster, std::span<const ResultFile> results,
                  const CalibrateOptions& options = {});

}  // namespace dlscale::model
