#pragma once
#include <string>
#include <vector>

#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --set, --device and --sharp of predict: other hardware than the machine's.
struct WhatIfOptions {
  std::vector<std::string> set;
  std::string device;
  bool sharp = false;
  /// After --all-reduce and --inter-node-bandwidth, which some of them stand in place of.
  void declare(CLI::App& command);
  /// Changes `machine` as was asked for: the device first, then what is stated. Returns a sentence
  /// for each change. Throws ConfigError.
  [[nodiscard]] std::vector<std::string> apply(model::Machine& machine, DType dtype) const;
  /// Throws ConfigError for a run whose gradients are not added by all-reduces, with --sharp.
  void check(const Run& run) const;
};

}  // namespace dlscale::app
