#pragma once
#include <cstdint>

#include "core/parallel/plan.hpp"
#include "model/memory/memory_setup.hpp"

namespace dlscale::model::memory {

/// The setup of a plan whose batches are complete (batches_of()), in elements of two bytes with
/// fused attention and without dropout. Throws ConfigError for sub-graphs side by side, whose
/// memory is not computed.
MemorySetup setup_of_plan(const parallel::ParallelPlan& plan, const parallel::PlanBatches& batches);

}  // namespace dlscale::model::memory
