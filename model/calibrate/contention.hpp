#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/communication/contention.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// What messages and work cost each other, from the rows of bench comm --beside: by collective,
/// ranks, ranks on a node, waiting, kind of work, its threads and the cores of a rank.
///
/// Of each sample, T_c and T_m are the times of work and messages alone, C_o and M_o beside each
/// other, and T_o that of both together, each of the longest of the ranks (bench/comm/overlap/overlap.hpp).
/// Both go on for
///   V = M_o - max(0, T_o - C_o)
/// and what each of them is then short of, it does alone before or after:
///   1 / s_c = (T_c - (C_o - V)) / V,   1 / s_m = (T_m - (M_o - V)) / V
/// C_o / T_c, which such a row states, is less where the work goes on after the messages. [D,
/// derived: both go at a steady rate while both are there] What it costs the work that the thread
/// which sends wakes up and meets the others counts as if the messages had taken it, so that short
/// messages slow work down by more.
///
/// The rate of a size is the median of its samples (of several rows, of their medians); one whose
/// 95 % interval is wider than a half is left out, for the messages are too short beside the work
/// to tell. That of a range is the median over its sizes, with its interval, which of fewer than
/// six sizes is the hull of theirs. A range for each size, joined to the neighbour that is nearest
/// in its rates as long as the intervals of both rates overlap; two that are left meet where
/// messages alone change their protocol (`alone`), else half way on a logarithmic scale.
///
/// Of the compute backend and cache that `options` choose, and of messages as training sends them;
/// others are passed over. Throws ConfigError that names file and key for a row that cannot be
/// read.
std::vector<ContentionFit> fit_contention(std::span<const ResultFile> results,
                                          std::span<const CollectiveFit> alone,
                                          const CalibrateOptions& options);

/// What fit_contention() passes over though it is of the backend chosen, a sentence for each other
/// cache that `options` do not choose.
std::vector<std::string> contention_notes(std::span<const ResultFile> results,
                                          const CalibrateOptions& options);

}  // namespace dlscale::model
