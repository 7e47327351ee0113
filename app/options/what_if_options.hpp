#pragma once
#include <string>
#include <vector>

#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

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

}  // namespace dlscale::app
