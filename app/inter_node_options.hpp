#pragma once
#include <string>

#include "core/cluster.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --inter-node-bandwidth and --inter-node-latency: the wires between nodes, which a machine
/// measured on one node says nothing of and which a what-if question changes.
struct InterNodeOptions {
  std::string bandwidth;
  std::string latency;
  void declare(CLI::App& command);
  [[nodiscard]] bool given() const { return !bandwidth.empty(); }
  /// Overrides the link of `cluster` where an option was given. Throws ConfigError.
  void apply(Cluster& cluster) const;
};

}  // namespace dlscale::app
