#pragma once
#include <optional>

#include "model/published/cases/curve_case.hpp"

namespace dlscale::model {

/// Rings that run in parallel among the GPUs of one node.
struct LinkRings {
  int count = 0;       ///< ≥ 1
  bool direct = true;  ///< each step uses a link; otherwise steps pass through other GPUs
};

/// The number of rings of NVLinks among the first `gpus` GPUs of a hybrid cube mesh of eight P100
/// (nvlink1) or V100 (nvlink2), by nvlink_rings() of core. If no ring exists, as among five, steps
/// pass through other GPUs. The number is then an upper bound: the links of the GPU with the
/// fewest. Empty for other nodes, where all GPUs reach each other alike, and for 1 GPU or more than
/// 8.
std::optional<LinkRings> link_rings(const cases::CurveCluster& cluster, int gpus);

}  // namespace dlscale::model
