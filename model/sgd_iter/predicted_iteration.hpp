#pragma once
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/uncertain_iteration.hpp"

namespace dlscale::model {

/// The prediction of one run without its speed-up, and the iteration that its interval is of.
struct PredictedIteration {
  Prediction prediction;
  UncertainIteration iteration;
};

/// The prediction of one run, as predict() makes it, but without the time of one rank. Throws
/// ConfigError as predict() does.
PredictedIteration predict_iteration(const Network& network, const Machine& machine, const Run& run,
                                     const RankSpread& spread);

}  // namespace dlscale::model
