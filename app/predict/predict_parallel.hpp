#pragma once
#include "model/parallel/answer/compared_plans.hpp"

namespace dlscale::app {

/// The plans of `predict --parallel`, answered: what explain_parallel() and trace_parallel() read.
using ParallelCall = model::parallel_time::ComparedPlans;

}  // namespace dlscale::app
