#pragma once
#include <optional>
#include <span>
#include <string>

#include "model/goodput/training_cost.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/time_to_train.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Goal of a training, and its costs besides iterations.
struct TrainingGoal {
  /// Number of epochs, > 0, or of tokens, from one of these three.
  std::optional<double> epochs;              ///< independent of the batch
  std::optional<model::Convergence> target;  ///< by the global batch
  std::string target_name;                   ///< name of `target`, for people
  std::optional<double> tokens;              ///< > 0; of networks over sequences
  double samples = model::imagenet_images;   ///< per epoch, > 0
  Seconds evaluation;                        ///< time of one, ≥ 0
  double evaluations_per_epoch = 1;          ///< ≥ 0
  Seconds start;                             ///< time before the first iteration, ≥ 0
};

/// The length of one training.
struct TrainingLength {
  double epochs = 1;   ///< > 0; 1 where tokens are stated
  double samples = 1;  ///< of an epoch, > 0
  Seconds beside_iterations;
};

/// The length of a training with this prediction's batch. Throws ConfigError for a number of tokens
/// where samples have none.
TrainingLength length_of(const model::Prediction& prediction, const TrainingGoal& goal);

/// Time to train for each prediction, with the least marked. Columns: global batch, epochs, images
/// per second, the time and, if the prediction has one, its interval. Schema
/// "dlscale.training_time". A second table has `costs`, one for each prediction or none. Requires
/// ≥ 1 prediction, all of one run except for its ranks.
Document training_time_document(std::span<const model::Prediction> predictions,
                                const TrainingGoal& goal,
                                std::span<const model::goodput::TrainingCost> costs = {});

}  // namespace dlscale::report
