#pragma once
#include <array>

#include "core/base/units.hpp"
#include "core/run/run.hpp"

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

/// Of what points those are that ComputingShares come from, in one precision: their GPUs' peaks in
/// it and memory bandwidths, and their batches. Predictions elsewhere rest on other devices
/// (sgd_iter/sheet_evidence.hpp).
struct ComputingEvidence {
  DType dtype = DType::f32;
  FlopsPerSecond least_peak;
  FlopsPerSecond most_peak;
  BytesPerSecond least_memory;
  BytesPerSecond most_memory;
  int least_batch = 1;
};
inline constexpr std::array computing_evidence{
    ComputingEvidence{DType::f32, FlopsPerSecond(4.37e12), FlopsPerSecond(15.7e12),
                      BytesPerSecond(240e9), BytesPerSecond(900e9), 32},
    ComputingEvidence{DType::tf32, FlopsPerSecond(156e12), FlopsPerSecond(156e12),
                      BytesPerSecond(1555e9), BytesPerSecond(2039e9), 256},
    ComputingEvidence{DType::f16, FlopsPerSecond(71e12), FlopsPerSecond(989.4e12),
                      BytesPerSecond(768e9), BytesPerSecond(3350e9), 128}};

/// Of what a link is sold with, what exchanges of gradients got of it: the part of its bandwidth,
/// and their start-ups. No transfer is quicker than the line rate, so that these say how slow it
/// may be; how quick, all of it and no start-up.
struct LinkShares {
  double efficiency = 1;  ///< in (0, 1]
  Seconds startup;
};

/// The constants at which the laws of links (topology/link_laws.hpp) are slowest: of the fits to
/// published trainings with one set left out each and of that to all, the least efficiencies, the
/// ends of the growth, and the longest latencies. [configs/models/scaling.yaml, to four digits,
/// rounded to the slower side; tests/model/scaling/link_shares_test.cpp holds them against it]
struct SlowestLinks {
  double pcie_efficiency = 0.3186;
  double least_pcie_growth = 0.5502;
  double most_pcie_growth = 0.5530;
  double nvlink_efficiency = 0.6388;
  double line_efficiency = 0.9519;
  double card_efficiency = 0.6190;
  Seconds local_latency{3.672e-6};
  Seconds rdma_latency{2.298e-5};
  Seconds tcp_latency{7.855e-5};
};
inline constexpr SlowestLinks slowest_links{};

/// By the laws at those constants, of links of a nominal rate > 0 in one direction; `cards` ≥ 1 of
/// a node share it.
LinkShares pcie_shares(BytesPerSecond nominal);
LinkShares nvlink_shares();
LinkShares tcp_shares(BytesPerSecond nominal, int cards);
LinkShares rdma_shares(BytesPerSecond nominal, int cards);

/// The least efficiency and the longest start-up of either: of a link that may be one or the other.
LinkShares slower_of(const LinkShares& one, const LinkShares& other);

}  // namespace dlscale::model
