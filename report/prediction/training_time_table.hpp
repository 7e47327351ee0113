#pragma once
#include <optional>
#include <span>
#include <string>

#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/time_to_train.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What training is to reach, and what it takes beside its iterations (MODEL 11).
struct TrainingGoal {
  /// How many epochs, > 0, by one of these two.
  std::optional<double> epochs;              ///< whatever the batch
  std::optional<model::Convergence> target;  ///< by the global batch
  std::string target_name;                   ///< of `target`, for people
  double samples = model::imagenet_images;   ///< of an epoch, > 0
  Seconds evaluation;                        ///< of one, ≥ 0
  double evaluations_per_epoch = 1;          ///< ≥ 0
  Seconds start;                             ///< before the first iteration, ≥ 0
};

/// The time to train of each prediction, with the least of all marked: global batch, epochs,
/// images a second, the time and, where the prediction has one, its interval. Schema
/// "dlscale.training_time". Requires ≥ 1 prediction, all of one run but for its ranks.
Document training_time_document(std::span<const model::Prediction> predictions,
                                const TrainingGoal& goal);

}  // namespace dlscale::report
