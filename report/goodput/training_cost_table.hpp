#pragma once
#include <span>

#include "model/goodput/training_cost.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Days, device-hours, price and energy of trainings with and without failures, the share of time
/// that is useful, failures and checkpoints; a row a training. Schema "dlscale.training_cost".
/// Requires ≥ 1 training, all with a price or none.
Document training_cost_document(std::span<const model::goodput::TrainingCost> trainings);
Document training_cost_document(const model::goodput::TrainingCost& training);

}  // namespace dlscale::report
