#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/prediction/prediction_summary.hpp"

namespace dlscale::app {

/// Text beside the rows of the short table: whom it counts, what the rows rest on, and
/// what makes them sharper. Requires ≥ 1 row.
report::PredictionWords words_for(const Network& network, const model::Machine& machine,
                                  std::span<const model::Prediction> rows);

/// Sentences on choices that others make otherwise: f32 on a GPU that has tf32, and the first
/// version of a ResNet with software that trains a later one. For predictions from data sheets.
std::vector<std::string> unusual_choices(const Network& network, const model::Machine& machine,
                                         DType dtype);

}  // namespace dlscale::app
