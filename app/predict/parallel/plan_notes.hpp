#pragma once
#include "app/predict/parallel/predict_parallel.hpp"
#include "core/cluster/cluster.hpp"

namespace dlscale::app {

/// The framework of `predict --parallel` without --framework.
inline constexpr const char* usual_framework = "megatron";

/// Adds to the notes of a call with rows: a framework that no family names, plans that the
/// framework does not run as it is published, f32 without tf32, and allocators that wait.
void note_limits(ParallelCall& call);

/// Adds a note where the plans take more nodes than the cluster has.
void note_more_nodes(const Cluster& cluster, ParallelCall& call);

/// Adds the assumptions of the answer, for --notes.
void note_details(ParallelCall& call);

}  // namespace dlscale::app
