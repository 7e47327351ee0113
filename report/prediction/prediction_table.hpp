#pragma once
#include <span>
#include <string>

#include "model/sgd_iter/iteration_trace.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Predictions, one table for each run (network, cluster, batch, precision, schedule) with one row
/// for each number of ranks. Columns: phases in ms, total, interval, images/s, speed-up, efficiency
/// and the bottleneck; notes below. JSON: {"schema": "dlscale.prediction", "version": 2,
/// "predictions": [...]}. Requires ≥ 1 prediction.
Document prediction_document(std::span<const model::Prediction> predictions);

/// The words of a table for people that predictions do not hold.
struct PredictionWords {
  std::string workers = "ranks";   ///< "GPUs"
  std::string samples = "images";  ///< or "sequences"
  std::string rests_on;            ///< "data sheets and 1,159 published trainings"
  std::string sharper;             ///< an option that makes the answer sharper; may be empty
  std::string next;                ///< what to ask next
};

/// The same document with a short table for people: samples a second, in all and of a worker,
/// speed-up with its interval, the iteration with computing, exposed communication and waits for
/// input, and the bottleneck. Below are two lines: what the answer rests on with its widest
/// interval, and what to ask next. prediction_document() has the phases and all notes.
Document prediction_summary(std::span<const model::Prediction> predictions,
                            const PredictionWords& words);

/// The tables of prediction_document().
std::vector<Table> prediction_tables(std::span<const model::Prediction> predictions);

/// "resnet50 on local, 8 images and 1 loader thread per rank, f32, wait_free by parameter server":
/// the settings that a curve over ranks shares.
std::string run_title(const Run& run);

/// Predicted iterations as a trace file for Chrome and Perfetto (core/results/trace_event.hpp): one
/// process for each number of ranks, one row for each concurrent resource.
std::string prediction_trace(std::span<const model::IterationTrace> traces);

}  // namespace dlscale::report
