#pragma once
#include "app/predict/parallel/predict_parallel.hpp"
#include "core/cluster/cluster.hpp"
#include "model/parallel/answer/remedies.hpp"

namespace dlscale::app {

/// The framework of `predict --parallel` without --framework.
inline constexpr const char* usual_framework = "megatron";

/// Whether the framework of a call runs a plan as it is published; any, if no family says.
model::parallel_time::RunsPlan runs_of(const ParallelCall& call);

/// Adds to the notes of a call with rows: a framework that no family names, plans that the
/// framework does not run as it is published, f32 without tf32, and allocators that wait.
void note_limits(ParallelCall& call);

/// Adds what products in 8 or 4 bits keep, for answers on memory.
void note_few_bits(ParallelCall& call);

/// Adds a note where the plans take more nodes than the cluster has.
void note_more_nodes(const Cluster& cluster, ParallelCall& call);

/// Adds the assumptions of the answer, for --notes.
void note_details(ParallelCall& call);

}  // namespace dlscale::app
