#pragma once
#include <string>

#include "app/options/training_options.hpp"
#include "app/predict/predict_parts.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "report/table/table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Options of `predict --layer-times`: predicts from measured times of layers.
class PredictTimed {
 public:
  /// Adds the options to the verb, which already has all others. Only those on messages and ranks
  /// go with --layer-times.
  void declare(CLI::App& verb);
  /// Whether --layer-times was given.
  [[nodiscard]] bool are_given() const { return !layers_.empty(); }
  /// Predicts every schedule for each number of ranks. Throws ConfigError.
  [[nodiscard]] report::Document predict(const TrainingOptions& options, const SweptAxes& axes,
                                         const model::RankSpread& spread) const;

 private:
  std::string layers_;
};

}  // namespace dlscale::app
