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

/// --explain of predict: explains the time of an iteration and what would reduce it, instead of
/// phases.
struct ExplainOptions {
  bool asked = false;
  /// Declares the option; call it after --layers, which it excludes.
  void declare(CLI::App& command);
  /// An explanation for each number of ranks, each with the notes `assumed`. With `global_batch`,
  /// advice on other batches is given as global batches.
  [[nodiscard]] static report::Document document(const Network& network,
                                                 const model::Machine& machine, Run run,
                                                 const std::vector<int>& ranks,
                                                 const std::vector<std::string>& assumed,
                                                 bool global_batch);
};

/// Adds notes after those of the prediction.
void add_notes(const std::vector<std::string>& notes, model::Prediction& prediction);

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
