#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/communication/contention.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// Fits how messages and work slow each other down, from the rows of bench comm --overlap-with.
/// Fits are separate by collective, ranks, ranks on a node, waiting, kind of work, its threads and
/// the cores of a rank.
///
/// In each sample, T_c and T_m are the times of work and messages alone, and C_o and M_o their
/// times beside each other. T_o is the time of both together. Each is the longest of the ranks
/// (bench/comm/overlap/overlap_rounds.hpp). Both run at the same time for
///   V = M_o - max(0, T_o - C_o)
/// and each does the rest of its work alone, before or after:
///   1 / s_c = (T_c - (C_o - V)) / V,   1 / s_m = (T_m - (M_o - V)) / V
/// C_o / T_c, which such a row states, is less if the work continues after the messages. [D,
/// derived: both run at a steady rate while both are there] The wake-up of the sending thread and
/// its barrier with the others also cost the work time. That counts as if messages had taken it, so
/// that short messages slow work down by more.
///
/// The rate of a size is the median of its samples; of several rows, the median of their medians. A
/// size whose 95 % interval is wider than 0.5 is left out, since its messages are too short beside
/// the work. The rate of a range is the median over its sizes, with its interval, or the hull of
/// their intervals for fewer than six sizes. Ranges begin as single sizes. A range joins the
/// neighbour with the nearest rates as long as the intervals of both rates overlap. Two remaining
/// ranges meet where messages alone change their protocol (`alone`), else half way on a logarithmic
/// scale.
///
/// Only rows of the compute backend and cache that `options` choose count, with messages as
/// training sends them. Throws ConfigError that names file and key for a row that cannot be read.
std::vector<ContentionFit> fit_contention(std::span<const ResultFile> results,
                                          std::span<const CollectiveFit> alone,
                                          const CalibrateOptions& options);

/// Sentences on rows of the chosen backend that fit_contention() ignores: one for each cache that
/// `options` do not choose.
std::vector<std::string> contention_notes(std::span<const ResultFile> results,
                                          const CalibrateOptions& options);

}  // namespace dlscale::model
