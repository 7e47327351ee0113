#pragma once
#include "core/network/network.hpp"
#include "model/goodput/training_cost.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model::goodput {

/// The question of what a training by data parallelism takes, all but its length in samples, which
/// `samples` > 0 states in images or sequences. A checkpoint holds f32 weights and the optimiser's
/// states of memory_need(). Power is that of the cluster's data sheet; without one, or for
/// processors, it is unknown. Storage is that of the cluster. Throws ConfigError for a data sheet
/// that cannot be read.
CostQuestion data_parallel_question(const Network& network, const Machine& machine,
                                    const Prediction& prediction, double samples);

}  // namespace dlscale::model::goodput
