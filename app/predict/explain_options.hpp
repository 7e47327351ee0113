#pragma once
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/table/table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --explain of predict: why an iteration takes so long and what would help, in place of phases.
struct ExplainOptions {
  bool asked = false;
  /// After --layers, which cannot be had at once.
  void declare(CLI::App& command);
  /// An explanation for each number of ranks. `assumed` are further notes of each. Where a global
  /// batch was asked for, other batches are advised as such.
  [[nodiscard]] static report::Document document(const Network& network,
                                                 const model::Machine& machine, Run run,
                                                 const std::vector<int>& ranks,
                                                 const std::vector<std::string>& assumed,
                                                 bool global_batch);
};

/// After those that the prediction has.
void add_notes(const std::vector<std::string>& notes, model::Prediction& prediction);

}  // namespace dlscale::app
