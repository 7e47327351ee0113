#pragma once
#include <string>

#include "core/cluster/cluster.hpp"
#include "core/run/run.hpp"

namespace dlscale::model {

/// The differences of a data-sheet prediction from all published trainings behind its compute
/// interval (datasheet_efficiency.hpp), as clauses. It covers processors, precisions without
/// trainings, and f32 on a device that offers TF32. It also covers peaks or memories more than a
/// quarter above or below all others, and less than half the smallest batch. [Both bounds are
/// conventions.] Empty where there are none. The interval does not widen, because the size of the
/// effect is unknown.
std::string beyond_evidence(const Cluster& cluster, const Run& run);

}  // namespace dlscale::model
