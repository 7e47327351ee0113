#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/prediction/training_time_table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --epochs, --target or --epochs-at of predict, and the options that belong to them: predict the
/// time to train instead of phases.
struct TrainingTimeOptions {
  std::optional<double> epochs;
  std::string target;
  std::vector<std::string> epochs_at;
  std::optional<double> samples;
  std::string evaluation;
  std::optional<double> evaluations_per_epoch;
  std::string start;
  /// Declares the options; call it after --layers and --explain, which they exclude.
  void declare(CLI::App& command);
  [[nodiscard]] bool asked() const {
    return epochs.has_value() || !target.empty() || !epochs_at.empty();
  }
  /// Throws ConfigError for an option that belongs to a time to train if none was requested.
  void check() const;
  /// The goal of a training of `network`. Requires asked(). Throws ConfigError.
  [[nodiscard]] report::TrainingGoal goal(std::string_view network) const;
};

}  // namespace dlscale::app
