#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/sgd_iter/time_to_train.hpp"

namespace dlscale::app {

/// The names that --target of predict and plan takes, from model::training_targets.
std::vector<std::string> target_names();

/// All targets for the help of --target: "imagenet-75.9 (resnet50, 75.9 % top 1)".
std::string known_targets();

/// The target of that name. Throws ConfigError if there is none, or if it is known for another
/// network than `network`.
const model::TrainingTarget& find_target(std::string_view name, std::string_view network);

/// The curve of epochs by batch through two or more trainings, in the form of --epochs-at of
/// predict and plan: "8192=64". Throws ConfigError.
model::Convergence fitted_epochs(const std::vector<std::string>& points);

}  // namespace dlscale::app
