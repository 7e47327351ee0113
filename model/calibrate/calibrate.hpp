#pragma once
#include <span>
#include <string>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// The conditions to fit. Different conditions are never mixed.
struct CalibrateOptions {
  std::string cache = "cold";          ///< axis "cache" of bench conv: where operands lie
  std::string message_cache = "cold";  ///< axis "cache" of bench comm
  std::string source = "page_cache";   ///< axis "source" of bench io: where images come from
  std::string backend = {};            ///< compute backend; empty: the only one in the results
};

/// Fits a machine to the results of bench conv, update, memory, io and comm. Files of "e2e", which
/// judge predictions, are refused with ConfigError. Only measurements with status ok or unstable
/// are used. Repeated measurements of one key, in one or several files, count as one: the median of
/// their medians, between the least and the greatest end of their intervals.
///
/// - Collectives, copies and updates: piecewise α-β by weighted least squares on relative error.
///   An exact search chooses breakpoints, with a penalty for each further segment (see fit.hpp).
/// - Messages: those between memories in which gradients lie (measured_on.hpp). They are also
///   fitted by the closed forms of their algorithms over all numbers of ranks, including our own
///   algorithms (communication/fit_algorithm.hpp).
/// - γ: the difference of reduce and broadcast by our own algorithms, as the cost of their loops.
///   Only they separate it from β; else it comes from sums in memory (communication/reduction.hpp).
/// - Contention of messages and work: rows that measured both at the same time, which say nothing
///   about messages alone (calibrate/contention.hpp).
/// - Launches: the series "give" of kernels, copies and updates is the host's time to launch the
///   work. Rows of bench device about graphs give the launch of graphs
///   (calibrate/graph_launch.hpp).
///
/// Throws ConfigError that names file and key for results that do not fit together. Such results
/// differ in processor, host, links between hosts, compute backend or version of a library.
Machine calibrate(const Cluster& cluster, std::span<const ResultFile> results,
                  const CalibrateOptions& options = {});

}  // namespace dlscale::model
