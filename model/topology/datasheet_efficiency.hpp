#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/run/run.hpp"

namespace dlscale::model {

/// Bandwidth of gradient exchanges by the nominal rates of links: laws of the scaling model
/// (docs/explanation/scaling.md), with constants fitted to published trainings. The scaling model
/// (model/published/scaling) and the slow ends of data-sheet links use them. Rates are > 0, of one
/// direction.

inline constexpr BytesPerSecond pcie3_x16 = 15.75_GBps;
/// PCI Express 6.0 x16, before its line code: 64 GT/s a lane. Faster links are not PCI Express.
inline constexpr BytesPerSecond fastest_pcie = 128.0_GBps;
/// The kind of configs/links that uses the host's kernel.
inline constexpr std::string_view tcp_kind = "ethernet-tcp";
/// Slot rate over card rate: 100 Gb/s on PCIe 3.0, 200 on 4.0, 400 on 5.0, all x16.
inline constexpr double slot_over_card = 1.26;

/// 15.75 GB/s · (nominal / 15.75 GB/s)^growth, the base of the efficiency of PCI Express paths:
/// measured bandwidth grows less than the nominal one.
inline BytesPerSecond grown_pcie(BytesPerSecond nominal, double growth) {
  return std::pow(nominal / pcie3_x16, growth) * pcie3_x16;
}

/// Joint bandwidth of a node's line and its cards, for any transport:
///   B = (line⁻³ + cards⁻³)^(-1/3)
///   line = line_efficiency · nominal,  cards = card_efficiency · c · max{15.75 GB/s, 1.26
///   nominal/c}
/// with c cards that share the nominal rate, each in a PCIe x16 slot that carries it. So slow
/// networks run near line rate and fast ones at the cards' part. [The third power is a judgement.]
inline BytesPerSecond through_cards(BytesPerSecond nominal, int cards, double line_efficiency,
                                    double card_efficiency) {
  const BytesPerSecond line = line_efficiency * nominal;
  const BytesPerSecond slot = std::max(pcie3_x16, slot_over_card * (nominal / cards));
  const double ratio = line / (card_efficiency * cards * slot);
  return line / std::cbrt(1 + ratio * ratio * ratio);
}

/// Bandwidth of two rates in series: (a⁻³ + b⁻³)^(-1/3). It is near the slower where one is much
/// slower, and 0.79 of either where they are equal and neither buffers the other's variation. [A
/// judgement, as above.]
inline BytesPerSecond one_after_the_other(BytesPerSecond a, BytesPerSecond b) {
  const double ratio = a / b;
  return a / std::cbrt(1 + ratio * ratio * ratio);
}

/// Published trainings against data sheets: the source of the intervals of predictions from data
/// sheets. tests/model/scaling/datasheet_efficiency_test.cpp recomputes the figures on computing
/// from the published cases, where they are present.

/// Factors on a time at full peak and line rate: 5 % of trainings took less than `low` times that
/// time, 5 % more than `high` times.
struct SheetRange {
  double low = 1;
  double high = 1;
};

/// Published all-reduces over the times by the data sheets of their links. [462 times of NCCL and
/// MPI between GPUs, from 4 B to 16 GiB, of five sources: results/published/ALLREDUCE.md]
inline constexpr SheetRange message_range{0.44, 2.1};

/// Measured over predicted time of an iteration on one GPU (forward, backward, update). It covers
/// the `points` published single-GPU throughputs (docs/explanation/scaling.md) of networks and GPUs
/// known here. Every set and network counts alike. Factors below 1 come from Winograd and Fourier
/// convolutions, which need fewer operations than a layer declares. f32 on GPUs that offer TF32 is
/// left out, because frameworks may have computed in TF32.
struct ComputingShares {
  SheetRange range;
  double median = 1;
  int points = 0;
  int groups = 0;  ///< one set and network each
  int sets = 0;
  /// Share of a set's points within the range of the other sets, over all sets and networks.
  double covered_left_out = 0;
};
inline constexpr ComputingShares computing_shares{{0.81, 2.68}, 1.48, 83, 10, 7, 0.88};

/// Coverage of the points behind ComputingShares in one precision: peaks, memory bandwidths and
/// batches of their GPUs. Predictions elsewhere extrapolate to other devices
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

/// The part of a link's nominal bandwidth that gradient exchanges reached, and their start-up. No
/// transfer is faster than the line rate, so these bound only how slow a link may be. The fastest
/// link has all of its bandwidth and no start-up.
struct LinkShares {
  double efficiency = 1;  ///< in (0, 1]
  Seconds startup;
};

/// The constants at which the laws of links above are slowest. They are the extremes over the fit
/// to all published trainings and the fits with one set left out: least efficiencies, both ends of
/// the growth, longest latencies. [configs/models/scaling.yaml, to four digits, rounded to the
/// slower side; tests/model/scaling/link_shares_test.cpp compares]
struct SlowestLinks {
  double pcie_efficiency = 0.3082;
  double least_pcie_growth = 0.5527;
  double most_pcie_growth = 0.5601;
  double nvlink_efficiency = 0.6397;
  double line_efficiency = 0.9582;
  double card_efficiency = 0.6509;
  BytesPerSecond socket_rate{2.412e9};
  Seconds local_latency{3.388e-6};
  Seconds rdma_latency{2.176e-5};
  Seconds tcp_latency{7.804e-5};
};
inline constexpr SlowestLinks slowest_links{};

/// Shares by the laws at those constants, for links of a nominal rate > 0 in one direction, which
/// `cards` ≥ 1 of a node share.
LinkShares pcie_shares(BytesPerSecond nominal);
LinkShares nvlink_shares();
LinkShares tcp_shares(BytesPerSecond nominal, int cards);
LinkShares rdma_shares(BytesPerSecond nominal, int cards);

/// The least efficiency and the longest start-up of both: for a link that may be either.
LinkShares slower_of(const LinkShares& one, const LinkShares& other);

/// The differences of a data-sheet prediction from all published trainings behind its compute
/// interval (datasheet_efficiency.hpp), as clauses. It covers processors, precisions without
/// trainings, and f32 on a device that offers TF32. It also covers peaks or memories more than a
/// quarter above or below all others, and less than half the smallest batch. [Both bounds are
/// conventions.] Empty where there are none. The interval does not widen, because the size of the
/// effect is unknown.
std::string beyond_evidence(const Cluster& cluster, const Run& run);

}  // namespace dlscale::model
