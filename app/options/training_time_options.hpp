#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/network/network.hpp"
#include "model/sgd_iter/time_to_train.hpp"
#include "report/prediction/training_time_table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --epochs, --target, --epochs-at or --tokens of predict, and the options that belong to them:
/// predict the time to train instead of phases.
struct TrainingTimeOptions {
  std::optional<double> epochs;
  std::string target;
  std::vector<std::string> epochs_at;
  std::string tokens;
  std::optional<double> samples;
  std::string evaluation;
  std::optional<double> evaluations_per_epoch;
  std::string start;
  /// Declares the options; call it after --layers and --explain, which they exclude.
  void declare(CLI::App& command);
  [[nodiscard]] bool asked() const {
    return epochs.has_value() || !target.empty() || !epochs_at.empty() || !tokens.empty();
  }
  /// Throws ConfigError for an option that belongs to a time to train if none was requested.
  void check() const;
  /// The goal of a training of `network`. Requires asked(). Throws ConfigError.
  [[nodiscard]] report::TrainingGoal goal(std::string_view network) const;
};

/// The names that --target of predict and plan takes, from model::training_targets.
std::vector<std::string> target_names();

/// Throws ConfigError for a network over sequences unless --samples was given: an epoch has a usual
/// number of images alone. `may_be_tokens`: whether --tokens may stand in place of epochs.
void expect_samples(const Network& network, bool given, bool may_be_tokens = true);

/// All targets for the help of --target: "imagenet-75.9 (resnet50, 75.9 % top 1)".
std::string known_targets();

/// The target of that name. Throws ConfigError if there is none, or if it is known for another
/// network than `network`.
const model::TrainingTarget& find_target(std::string_view name, std::string_view network);

/// The curve of epochs by batch through two or more trainings, in the form of --epochs-at of
/// predict and plan: "8192=64". Throws ConfigError.
model::Convergence fitted_epochs(const std::vector<std::string>& points);

}  // namespace dlscale::app
