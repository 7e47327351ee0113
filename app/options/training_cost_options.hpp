#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "model/goodput/training_cost.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/prediction/training_time_table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Options of predict on what a whole training takes beside its iterations: price, failures,
/// checkpoints, spare nodes and power.
struct TrainingCostOptions {
  std::optional<double> price;
  std::vector<std::string> mtbf;
  std::vector<std::string> checkpoints;
  std::optional<int> spares;
  std::vector<std::string> power;
  void declare(CLI::App& command);
  [[nodiscard]] bool asked() const {
    return price || !mtbf.empty() || !checkpoints.empty() || spares || !power.empty();
  }
  /// Throws ConfigError for an option that was given without a length of the training.
  void check(bool has_length) const;
  /// Sets what the options state. Throws ConfigError.
  void apply(model::goodput::CostQuestion& question) const;
};

/// "15T" as 15e12: a number above 0 with K, M, B or T behind it, or without. Throws ConfigError,
/// which names --tokens.
double parse_tokens(const std::string& text);

/// The cost of each predicted training by data parallelism with these options. Throws ConfigError,
/// also for a goal in tokens of a network without.
std::vector<model::goodput::TrainingCost> training_costs(
    const TrainingCostOptions& options, const Network& network, const model::Machine& machine,
    std::span<const model::Prediction> predictions, const report::TrainingGoal& goal);

}  // namespace dlscale::app
