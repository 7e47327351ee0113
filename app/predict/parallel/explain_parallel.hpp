#pragma once
#include "app/predict/parallel/predict_parallel.hpp"
#include "core/cluster/cluster.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// Explains each plan of a call: what its iteration consists of, what would shorten it, which links
/// its groups cross, and how each stage spends its time. `cluster` is the call's, and `doubts` are
/// on its measured points, in sentences.
report::Document explain_parallel(const ParallelCall& call, const Cluster& cluster,
                                  const std::vector<std::string>& doubts);

}  // namespace dlscale::app
