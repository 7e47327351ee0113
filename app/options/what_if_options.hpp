#pragma once
#include <string>
#include <vector>

#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --set, --device and --sharp of predict: hardware that differs from the machine's.
struct WhatIfOptions {
  std::vector<std::string> set;
  std::string device;
  bool sharp = false;
  /// Declares the options; call it after --all-reduce and --inter-node-bandwidth, which some of
  /// them replace.
  void declare(CLI::App& command);
  /// Changes `machine` as requested: the device first, then the stated values. Returns a sentence
  /// for each change. Throws ConfigError.
  [[nodiscard]] std::vector<std::string> apply(model::Machine& machine, DType dtype) const;
  /// Throws ConfigError if --sharp is given for a run that does not add gradients by all-reduce.
  void check(const Run& run) const;
};

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
