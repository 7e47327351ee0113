#pragma once
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "report/table/table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// `predict --out-of-core [POLICY]`: a training that needs more than the memory of its device.
class PredictOutOfCore {
 public:
  /// Adds the option to the verb, which already has all others. Those on links between ranks and on
  /// schedules do not go with it.
  void declare(CLI::App& verb);
  [[nodiscard]] bool is_given() const { return !policy_.empty(); }
  /// One rank of `run`, with its batch: all policies, or the named one with the list of its
  /// tensors. Notes `assumed` come last. Throws ConfigError, also for several batches or a device
  /// without a stated memory.
  [[nodiscard]] report::Document predict(const Network& network, const model::Machine& machine,
                                         const Run& run,
                                         const std::vector<std::string>& assumed) const;

 private:
  std::string policy_;  ///< "all": every policy; empty: not asked
};

}  // namespace dlscale::app
