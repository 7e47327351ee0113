#pragma once
#include <optional>

#include "model/published/cases/curve_case.hpp"

namespace dlscale::model {

/// Rings that run side by side among the GPUs of one node.
struct LinkRings {
  int count = 0;       ///< ≥ 1
  bool direct = true;  ///< each step of them over a link; else through other GPUs
};

/// How many rings of NVLinks join the first `gpus` GPUs of a node whose GPUs are no equals: the
/// hybrid cube mesh of eight P100 (nvlink1) or V100 (nvlink2); nvlink_rings() of core. Where there
/// is none, such as of five, steps lead through other GPUs, and no more can run than the least
/// joined GPU has links: an upper bound. Nothing of other nodes, where all GPUs reach each other
/// alike, and of 1 GPU or more than 8.
std::optional<LinkRings> link_rings(const cases::CurveCluster& cluster, int gpus);

}  // namespace dlscale::model
