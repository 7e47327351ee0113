#pragma once
#include <algorithm>
#include <cmath>

#include "core/base/units.hpp"

namespace dlscale::model {

/// What exchanges of gradients get of links by their nominal rates: laws of the model of scaling
/// (docs/SCALING.md), whose constants are fitted to published trainings. Predictions of those
/// (model/scaling) and the slow ends of links by their data sheets (data_sheet_shares.hpp) have
/// them from here. Rates are > 0, of one direction.

inline constexpr BytesPerSecond pcie3_x16 = 15.75_GBps;
/// Of a node, by the few sockets that libraries open. [a judgement]
inline constexpr BytesPerSecond most_of_tcp = 3.0_GBps;
/// 100 Gb/s on PCIe 3.0, 200 on 4.0, 400 on 5.0, all x16.
inline constexpr double slot_over_card = 1.26;

/// 15.75 GB/s · (nominal / 15.75 GB/s)^growth, of which paths over PCI Express get a part: less is
/// gained than is sold.
inline BytesPerSecond grown_pcie(BytesPerSecond nominal, double growth) {
  return std::pow(nominal / pcie3_x16, growth) * pcie3_x16;
}

/// What a node's line and its cards pass on together, whoever moves the bytes:
///   B = (line⁻³ + cards⁻³)^(-1/3)
///   line = line_efficiency · nominal,  cards = card_efficiency · c · max{15.75 GB/s, 1.26
///   nominal/c}
/// with c cards that share the nominal rate, each in a slot of PCIe x16 that carries it. So slow
/// networks run near line rate and quick ones at the cards' part. [The third power is a judgement.]
inline BytesPerSecond through_cards(BytesPerSecond nominal, int cards, double line_efficiency,
                                    double card_efficiency) {
  const BytesPerSecond line = line_efficiency * nominal;
  const BytesPerSecond slot = std::max(pcie3_x16, slot_over_card * (nominal / cards));
  const double ratio = line / (card_efficiency * cards * slot);
  return line / std::cbrt(1 + ratio * ratio * ratio);
}

/// Of two rates through which the same bytes pass one after the other: (a⁻³ + b⁻³)^(-1/3), the
/// slower where one is much slower, and 0.79 of either where they are alike and neither can wait
/// for the other's unevenness. [A judgement, as above.]
inline BytesPerSecond one_after_the_other(BytesPerSecond a, BytesPerSecond b) {
  const double ratio = a / b;
  return a / std::cbrt(1 + ratio * ratio * ratio);
}

}  // namespace dlscale::model
