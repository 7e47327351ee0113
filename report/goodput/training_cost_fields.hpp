#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/goodput/training_cost.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {

/// The cost of a training in all forms: days and device-hours with and without failures, the useful
/// share, failures, checkpoints, energy and price. Price and energy have columns if some row has
/// them.
Fields<model::goodput::TrainingCost> training_cost_fields(
    std::span<const model::goodput::TrainingCost> trainings);

/// Sentences on what the costs rest on, for notes below a table. Requires ≥ 1 training.
std::vector<std::string> training_cost_notes(
    std::span<const model::goodput::TrainingCost> trainings);

/// "62.31 days": hours below two days.
std::string training_time_text(double seconds);

/// A number of tokens, as --tokens takes it: "15T".
std::string amount_text(double amount);

}  // namespace dlscale::report
