#pragma once
#include <vector>

#include "model/sgd_iter/graph/iteration.hpp"
#include "model/what_if/explain.hpp"

namespace dlscale::model {

/// Parts of the iteration that `plan` predicts in `time`: each simulates the plan again with that
/// part at zero. Parts that take no time are left out.
std::vector<PartOfIteration> parts_of(const IterationPlan& plan, const IterationTime& time);

}  // namespace dlscale::model
