#pragma once
#include <string>

#include "model/sgd_iter/cluster/compute_factors.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --stragglers and --straggler-shape: the variation of compute times among ranks, which machine
/// files do not describe.
struct StragglerOptions {
  std::string deviation;
  std::string shape;
  void declare(CLI::App& command);
  /// Throws ConfigError if they were given with an option under which they have no effect.
  void refuse_beside(const std::string& option) const;
  /// The spread of ranks; no deviation if none was given. Throws ConfigError.
  [[nodiscard]] model::RankSpread spread() const;
};

}  // namespace dlscale::app
