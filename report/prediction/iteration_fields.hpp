#pragma once
#include <optional>
#include <span>
#include <string>

#include "core/run/run.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {

// Fields that answers about runs and predicted iterations share.

/// The question: "network" to "fuse". Settings without effect on the run are null.
Fields<Run> run_fields();

/// The schedule settings among them, always in the same order. horovod: "cycle_s",
/// "fusion_threshold_bytes". priority: "partition_bytes", "credit". Parameter server: "servers",
/// "sharding", "transport", "callers". Closing of buckets: "first_bucket_bytes", "bucket_bytes".
Fields<Run> schedule_fields();

/// The answer: phases in ms, total, interval, rate, speed-up, efficiency, bound, notes and closed
/// form. In JSON the times are the object "time", and their sources are "basis".
Fields<model::Prediction> iteration_fields();

/// "t_load_from" to "t_u_from", for records: the sources of the phase times.
Fields<model::Prediction> source_fields();

/// For programs: "tokens_per_s" where samples have tokens, and "sheet_limit_images_per_s" where
/// that was asked for.
Fields<model::Prediction> asked_fields(std::span<const model::Prediction> rows);

/// All fields of a prediction for records and JSON: its run (an object in JSON) and the iteration
/// with its sources.
Fields<model::Prediction> prediction_fields();
/// These and asked_fields().
Fields<model::Prediction> prediction_fields(std::span<const model::Prediction> rows);

/// "89.1 to 92.3" in ms, or "–" without an interval.
std::string predicted_interval_text(const model::Prediction& prediction);

/// A speed-up and its 90 % interval as distances of the ends: "7.80 ± 0.21", "7.80 +0.10 −0.42".
/// The value alone without an interval, and where its digits show none.
std::string speedup_text(double speedup, std::optional<double> low, std::optional<double> high);
/// The same of an efficiency: "97.5 +1.3 −5.2 %".
std::string efficiency_text(double efficiency, std::optional<double> low,
                            std::optional<double> high);

/// "forward measured, backward measured"; empty if unknown.
std::string basis_text(const model::PhaseSources& sources);

}  // namespace dlscale::report
