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

/// --trace of predict: writes a timeline of some iterations besides the answer.
struct TraceOption {
  std::string path;
  void declare(CLI::App& command);
  [[nodiscard]] bool asked() const { return !path.empty(); }
  /// Writes the trace if it was requested, completely or not at all. Throws ConfigError, also for
  /// an existing file that is not a trace.
  void write(const Network& network, const model::Machine& machine, Run run,
             const std::vector<int>& ranks) const;
};

}  // namespace dlscale::app
