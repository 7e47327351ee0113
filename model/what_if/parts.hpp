#pragma once
#include <vector>

#include "model/sgd_iter/graph/iteration.hpp"
#include "model/what_if/explain.hpp"

namespace dlscale::model {

/// Of the iteration that `plan` predicts in `time`, part by part: the plan simulated again with
/// what the part takes at zero. Parts that take nothing are left out.
std::vector<PartOfIteration> parts_of(const IterationPlan& plan, const IterationTime& time);

}  // namespace dlscale::model
