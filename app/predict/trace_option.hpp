#pragma once
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --trace of predict: a time line of some iterations, beside the answer.
struct TraceOption {
  std::string path;
  void declare(CLI::App& command);
  [[nodiscard]] bool asked() const { return !path.empty(); }
  /// Writes it, if it was asked for: whole, or not at all. Throws ConfigError, as for a file that
  /// holds anything but a trace.
  void write(const Network& network, const model::Machine& machine, Run run,
             const std::vector<int>& ranks) const;
};

}  // namespace dlscale::app
