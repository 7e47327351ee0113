#pragma once
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --inter-node-bandwidth and --inter-node-latency: the link between nodes, which a machine
/// measured on one node lacks and a what-if question changes. Values are kept as typed; commands
/// that take one link refuse a list.
struct InterNodeOptions {
  std::string bandwidth;
  std::string latency;
  void declare(CLI::App& command);
  [[nodiscard]] bool given() const { return !bandwidth.empty(); }
  /// One link for each bandwidth with each latency if lists or sweeps were given
  /// (app/cli/number_sweep.hpp); else only itself. Throws ConfigError.
  [[nodiscard]] std::vector<InterNodeOptions> each() const;
  /// Overrides the link of `cluster` if an option was given. Throws ConfigError.
  void apply(Cluster& cluster) const;
};

}  // namespace dlscale::app
