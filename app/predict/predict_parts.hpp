#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/options/hardware_options.hpp"
#include "app/options/training_options.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/prediction/sweep_table.hpp"
#include "report/table/table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// The axes that a prediction sweeps; each has at least one value.
struct SweptAxes {
  std::vector<int> ranks;
  std::vector<int> batches;
  std::vector<Schedule> schedules;
  std::vector<InterNodeOptions> links;
  /// Images of an iteration on all ranks; `batches` is then empty.
  std::optional<std::int64_t> global_batch = {};
  bool limits = false;  ///< whether each row has the limit of its data sheet
  /// Whether anything but the ranks is swept; prediction_document() has one row for each rank
  /// count.
  [[nodiscard]] bool beyond_ranks() const {
    return batches.size() > 1 || schedules.size() > 1 || links.size() > 1;
  }
  /// Whether rows differ in batch, schedule or link.
  [[nodiscard]] bool several() const {
    return beyond_ranks() || (global_batch && ranks.size() > 1);
  }
};

/// Throws ConfigError for a sweep of too many rows, each of which takes some milliseconds.
void refuse_too_many(const SweptAxes& axes);

/// Changes `machine` as requested. Returns sentences on the changes, on the values of a framework's
/// profile, and unusual_choices(). Throws ConfigError.
std::vector<std::string> what_is_assumed(const TrainingOptions& options,
                                         const WhatIfOptions& what_if, const Network& network,
                                         model::Machine& machine);

/// Sets the limit of the data sheet. Throws ConfigError as sheet_limit() does.
void add_limit(const Network& network, const model::Machine& machine,
               model::Prediction& prediction);

/// Adds input_sentence() to the notes of a prediction.
void note_input(const Network& network, const model::Machine& machine,
                model::Prediction& prediction);

/// Predictions for several numbers of ranks.
struct PredictedRanks {
  struct LeftOut {
    int ranks = 1;
    std::string why;
  };
  std::vector<model::Prediction> rows;
  std::vector<LeftOut> left_out;
};

/// Calls model::predict() once if all numbers of ranks can be predicted, else once for each that
/// can.
PredictedRanks predict_each(const Network& network, const model::Machine& machine, const Run& run,
                            std::span<const int> ranks, const model::RankSpread& spread);

/// The link between nodes that measured points belong to: that of the cluster's file; where it
/// states none, `asked`.
InterNodeOptions measured_link(const TrainingOptions& options, const InterNodeOptions& asked);

/// Gives a machine with the link `asked` the level of measured points, if there is one.
void set_level(const std::optional<model::MeasuredLevel>& level, const InterNodeOptions& asked,
               const TrainingOptions& options, model::Machine& machine);

/// Predicts every combination of the axes on the requested hardware, with this spread of ranks, at
/// the level of measured points, if there is one. One that cannot be predicted is left out, with
/// the reason. Throws ConfigError as refuse_too_many() does, and with the first reason if none can
/// be predicted.
report::Sweep predict_sweep(const TrainingOptions& options, const WhatIfOptions& what_if,
                            const model::RankSpread& spread, const Network& network,
                            const SweptAxes& axes,
                            const std::optional<model::MeasuredLevel>& level);

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

/// --layers of predict: what each layer adds, for each number of ranks, with the notes `assumed`.
report::Document layer_document(const Network& network, const model::Machine& machine, Run run,
                                const std::vector<int>& ranks,
                                const std::vector<std::string>& assumed);

/// Throws ConfigError if any number of ranks cannot be described in detail.
void check_details(const Network& network, const model::Machine& machine, const Run& run,
                   const SweptAxes& axes);

/// Adds notes after those of the prediction.
void add_notes(const std::vector<std::string>& notes, model::Prediction& prediction);

/// --trace of predict: writes a timeline of some iterations besides the answer.
struct TraceOption {
  std::string path;
  void declare(CLI::App& command);
  [[nodiscard]] bool asked() const { return !path.empty(); }
  /// A sentence on where the time line is.
  [[nodiscard]] std::string place() const;
  /// Writes the trace if it was requested, completely or not at all. Throws ConfigError, also for
  /// an existing file that is not a trace.
  void write(const Network& network, const model::Machine& machine, Run run,
             const std::vector<int>& ranks) const;
};

}  // namespace dlscale::app
