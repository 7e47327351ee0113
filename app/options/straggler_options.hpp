#pragma once
#include <string>

#include "model/sgd_iter/cluster/compute_factors.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --stragglers and --straggler-shape: how much the computing of ranks varies, which no machine
/// file says.
struct StragglerOptions {
  std::string deviation;
  std::string shape;
  void declare(CLI::App& command);
  /// Throws ConfigError if they were given beside what they have no effect on.
  void refuse_beside(const std::string& option) const;
  /// No deviation where none was given. Throws ConfigError.
  [[nodiscard]] model::RankSpread spread() const;
};

}  // namespace dlscale::app
