#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/sgd_iter/time_to_train.hpp"

namespace dlscale::app {

/// The names that --target of predict and plan takes, of model::training_targets.
std::vector<std::string> target_names();

/// "imagenet-75.9 (resnet50, 75.9 % top 1)", of all, for the help of --target.
std::string known_targets();

/// The one that is called so. Throws ConfigError where none is, and where it is known for another
/// network than `network`.
const model::TrainingTarget& find_target(std::string_view name, std::string_view network);

/// What trainings of some batches took, as --epochs-at of predict and plan has it, "8192=64": the
/// curve through two or more of them. Throws ConfigError.
model::Convergence fitted_epochs(const std::vector<std::string>& points);

}  // namespace dlscale::app
