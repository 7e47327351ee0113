#pragma once
#include <string>
#include <vector>

#include "model/machine/machine.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --measured of predict and plan: iterations of the training asked for that were measured on the
/// cluster, "RANKS=RATE/s" (samples of all ranks) or "RANKS=TIME ms".
struct MeasuredOption {
  std::vector<std::string> points;
  void declare(CLI::App& verb);
  [[nodiscard]] bool is_given() const { return !points.empty(); }
  /// Adds the points to a machine from data sheets. `batches` are those asked for, of a rank; 0
  /// stands for one that differs by rank. Throws ConfigError for a point that cannot be read, for
  /// several batches, and for a machine that was measured.
  void add_to(model::Machine& machine, const std::vector<int>& batches) const;
  /// "your point at 1 GPU", "your points at 1 and 8 GPUs".
  [[nodiscard]] static std::string words(const model::Machine& machine);
};

}  // namespace dlscale::app
