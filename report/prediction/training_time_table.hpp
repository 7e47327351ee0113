#pragma once
#include <optional>
#include <span>
#include <string>

#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/time_to_train.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Goal of a training, and its costs besides iterations.
struct TrainingGoal {
  /// Number of epochs, > 0, from one of these two.
  std::optional<double> epochs;              ///< independent of the batch
  std::optional<model::Convergence> target;  ///< by the global batch
  std::string target_name;                   ///< name of `target`, for people
  double samples = model::imagenet_images;   ///< per epoch, > 0
  Seconds evaluation;                        ///< time of one, ≥ 0
  double evaluations_per_epoch = 1;          ///< ≥ 0
  Seconds start;                             ///< time before the first iteration, ≥ 0
};

/// Time to train for each prediction, with the least marked. Columns: global batch, epochs, images
/// per second, the time and, if the prediction has one, its interval. Schema
/// "dlscale.training_time". Requires ≥ 1 prediction, all of one run except for its ranks.
Document training_time_document(std::span<const model::Prediction> predictions,
                                const TrainingGoal& goal);

}  // namespace dlscale::report
