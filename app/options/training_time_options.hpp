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

/// --epochs, --target or --epochs-at of predict, and what belongs to them: the time to train in
/// place of phases.
struct TrainingTimeOptions {
  std::optional<double> epochs;
  std::string target;
  std::vector<std::string> epochs_at;
  std::optional<double> samples;
  std::string evaluation;
  std::optional<double> evaluations_per_epoch;
  std::string start;
  /// After --layers and --explain, which cannot be had at once.
  void declare(CLI::App& command);
  [[nodiscard]] bool asked() const {
    return epochs.has_value() || !target.empty() || !epochs_at.empty();
  }
  /// Throws ConfigError where something is given that belongs to a time nobody asked for.
  void check() const;
  /// Of a training of `network`. Requires asked(). Throws ConfigError.
  [[nodiscard]] report::TrainingGoal goal(std::string_view network) const;
};

}  // namespace dlscale::app
