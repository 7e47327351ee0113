#pragma once
#include <algorithm>
#include <cmath>

#include "core/base/units.hpp"

namespace dlscale::model {

/// Bandwidth of gradient exchanges by the nominal rates of links: laws of the scaling model
/// (docs/explanation/scaling.md), with constants fitted to published trainings. The scaling model
/// (model/scaling) and the slow ends of data-sheet links (datasheet_efficiency.hpp) use them. Rates
/// are > 0, of one direction.

inline constexpr BytesPerSecond pcie3_x16 = 15.75_GBps;
/// Limit of a node, which has only the few sockets that libraries open. [a judgement]
inline constexpr BytesPerSecond most_of_tcp = 3.0_GBps;
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

}  // namespace dlscale::model
