#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/sgd_iter/iteration_trace.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/table/field_table.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Predictions, one table for each run (network, cluster, batch, precision, schedule) with one row
/// for each number of ranks. Columns: phases in ms, total, interval, images/s, speed-up, efficiency
/// and the bottleneck; notes below. JSON: {"schema": "dlscale.prediction", "version": 2,
/// "predictions": [...]}. Requires ≥ 1 prediction.
Document prediction_document(std::span<const model::Prediction> predictions);

/// The tables of prediction_document().
std::vector<Table> prediction_tables(std::span<const model::Prediction> predictions);

/// The same tables with the columns of `fields`, and one for the numbers of notes.
std::vector<Table> curve_tables(const Fields<model::Prediction>& fields,
                                std::span<const model::Prediction> predictions);

/// Indices of rows with these numbers of ranks that are shown to people: the first, the last, the
/// one at `best`, and the least ranks from each power of two. Ascending.
std::vector<std::size_t> told_of_ranks(std::span<const int> ranks, std::size_t best);

/// The same of predictions of one run, the fastest being the best; empty for so few that all are
/// shown.
std::vector<std::size_t> told_rows(std::span<const model::Prediction> rows);

/// "images" or "sequences".
std::string_view samples_of(const model::Prediction& prediction);

/// "resnet50 on local, 8 images and 1 loader thread per rank, f32, wait_free by parameter server":
/// the settings that a curve over ranks shares. `samples`: "images" or "sequences".
std::string run_title(const Run& run, std::string_view samples);

/// Predicted iterations as a trace file for Chrome and Perfetto (core/results/trace_event.hpp): one
/// process for each number of ranks, one row for each concurrent resource.
std::string prediction_trace(std::span<const model::IterationTrace> traces,
                             std::string_view samples);

}  // namespace dlscale::report
