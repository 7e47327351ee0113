#pragma once
#include "core/units.hpp"

namespace dlscale::model {

/// How far trainings were from what data sheets say, as others published them: what intervals of
/// predictions from data sheets are made of. tests/model/scaling/data_sheet_shares_test.cpp finds
/// the figures of computing anew from the cases where they are present.

/// Factors on a time by full peak and line rate: 5 % of trainings were quicker than `low` times
/// that, 5 % slower than `high` times.
struct SheetRange {
  double low = 1;
  double high = 1;
};

/// Of an iteration on one GPU (forward, backward, update): measured over predicted, of the
/// `points` throughputs of one GPU that are given with the published cases (docs/SCALING.md) of
/// networks and GPUs known here. Every set and network counts alike. Less than 1 are convolutions
/// by Winograd's and Fourier transforms, which need fewer operations than a layer declares. f32 of
/// GPUs that offer TF32 is left out, for frameworks may have computed in that.
struct ComputingShares {
  SheetRange range;
  double median = 1;
  int points = 0;
  int groups = 0;  ///< of one set and network each
  int sets = 0;
  /// Of the points of a set, by the range of the other sets; of all sets and networks.
  double covered_left_out = 0;
};
inline constexpr ComputingShares computing_shares{{0.81, 2.68}, 1.48, 83, 10, 7, 0.88};

/// Of what a link is sold with, what exchanges of gradients got of it: the part of its bandwidth,
/// and their start-ups. No transfer is quicker than the line rate, so that these say how slow it
/// may be; how quick, all of it and no start-up. [The least efficiencies and the longest latencies
/// of the fits to published trainings with one set left out each: configs/models/scaling.yaml at
/// 362d401]
struct LinkShares {
  double efficiency = 1;  ///< in (0, 1]
  Seconds startup;
};
inline constexpr LinkShares pcie_shares{0.3213, Seconds(3.687e-6)};
inline constexpr LinkShares nvlink_shares{0.6402, Seconds(3.687e-6)};
inline constexpr LinkShares tcp_shares{0.9527, Seconds(8.123e-5)};
inline constexpr LinkShares rdma_shares{0.6711, Seconds(2.309e-5)};

}  // namespace dlscale::model
