#pragma once
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --inter-node-bandwidth and --inter-node-latency: the wires between nodes, which a machine
/// measured on one node says nothing of and which a what-if question changes. As typed: where a
/// command takes one link, a list is refused.
struct InterNodeOptions {
  std::string bandwidth;
  std::string latency;
  void declare(CLI::App& command);
  [[nodiscard]] bool given() const { return !bandwidth.empty(); }
  /// One for each bandwidth with each latency, where lists or sweeps of these were given
  /// (app/cli/number_sweep.hpp); else itself. Throws ConfigError.
  [[nodiscard]] std::vector<InterNodeOptions> each() const;
  /// Overrides the link of `cluster` where an option was given. Throws ConfigError.
  void apply(Cluster& cluster) const;
};

}  // namespace dlscale::app
