#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/options/measured_option.hpp"
#include "app/options/training_cost_options.hpp"
#include "app/options/training_options.hpp"
#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/answer/compared_plans.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dlscale::app {

/// The plans of `predict --parallel`, answered: what explain_parallel() and trace_parallel() read.
using ParallelCall = model::parallel_time::ComparedPlans;

/// Options of predict that --parallel shares with other questions.
struct ParallelInputs {
  const TrainingOptions* training = nullptr;  ///< not null
  std::string device = {};                    ///< a GPU in place of the cluster's; empty: its own
  std::vector<std::string> ranks;             ///< as typed; may be empty
  bool is_dtype_stated = false;
  std::optional<std::int64_t> global_batch;
  std::string framework;
  const MeasuredOption* measured = nullptr;  ///< not null
  bool memory = false;
  bool notes = false;
  bool explain = false;
  std::string trace = {};                     ///< a file for a time line; empty: none
  std::string tokens = {};                    ///< of a whole training, as typed; may be empty
  const TrainingCostOptions* cost = nullptr;  ///< not null
};

/// --parallel and --fits of predict: time and memory of transformers under parallel plans.
class PredictParallel {
 public:
  /// Adds the options to the verb, which already has all others but --cases.
  void declare(CLI::App& verb);
  [[nodiscard]] bool is_given() const { return !plans_.empty(); }
  [[nodiscard]] const std::vector<std::string>& plans() const { return plans_; }  ///< as typed
  /// Whether any plan computes sub-graphs side by side. Throws ConfigError for a faulty plan.
  [[nodiscard]] bool has_branches() const;
  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] bool states_cores() const;  ///< whether --cores-per-rank was given
  [[nodiscard]] bool states_dtype() const;  ///< whether --dtype was given
  /// Answers and writes. With --fits, ExitCode::bad_input if a plan does not fit or cannot run.
  /// Throws ConfigError.
  [[nodiscard]] ExitCode predict(const ParallelInputs& inputs, const DocumentOutput& output) const;

 private:
  std::vector<std::string> plans_;
  bool fits_ = false;
  CLI::Option* dtype_ = nullptr;
  CLI::Option* cores_ = nullptr;
};

/// The format of products as --dtype names it: bf16 where it was not stated.
std::string dtype_of(const TrainingOptions& training, bool is_stated);

/// The sizes of the network for sequences of the length asked for. A long one does not make the
/// network, whose scores would be absurdly large, unless it has a table of positions. Throws
/// ConfigError.
model::memory::TransformerShape shape_of(const TrainingOptions& training, const Network& network);

/// The number format of products that --dtype names: that of `run`, or `few_bits`.
model::parallel_time::Precision precision_of(const TrainingOptions& training);

}  // namespace dlscale::app
