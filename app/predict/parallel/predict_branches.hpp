#pragma once
#include <vector>

#include "app/predict/parallel/asked_plan.hpp"
#include "app/predict/parallel/predict_parallel.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// An answer of predict_branches().
struct BranchesAnswer {
  report::Document document;
  bool fits = false;  ///< whether every plan that was asked for can run and fits its GPUs
};

/// Plans of data and branches alone on a cluster of data sheets, for any network, beside data
/// parallelism on as many ranks; with `fits` their verdicts alone. Throws ConfigError, also for
/// plans with other keys and for options that only plans of transformers know.
BranchesAnswer predict_branches(const ParallelInputs& inputs, const std::vector<AskedPlan>& plans,
                                bool fits);

}  // namespace dlscale::app
