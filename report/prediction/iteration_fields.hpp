#pragma once
#include "core/run/run.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {

// Fields that answers about runs and predicted iterations have in common.

/// What was asked: "network" to "fuse". Settings without effect on the run are null.
Fields<Run> run_fields();

/// The settings of schedules among them, always all in the same order: "cycle_s" and
/// "fusion_threshold_bytes" of horovod, "partition_bytes" and "credit" of priority, "servers",
/// "sharding", "transport" and "callers" of a parameter server, "first_bucket_bytes" and
/// "bucket_bytes", at which buckets are closed.
Fields<Run> schedule_fields();

/// The answer: phases in ms, total, interval, rate, speed-up, efficiency, bound, notes and closed
/// form. In JSON the times are the object "time", and where they come from is "basis".
Fields<model::Prediction> iteration_fields();

/// "t_load_from" to "t_u_from", for records: where the times of the phases come from.
Fields<model::Prediction> source_fields();

/// What records and JSON have of a prediction: its run as an object in JSON, and all of the above.
Fields<model::Prediction> prediction_fields();

/// "89.1 – 92.3" in ms, or "–" without an interval.
std::string predicted_interval_text(const model::Prediction& prediction);

/// "forward measured, backward measured"; empty where nothing is known.
std::string basis_text(const model::PhaseSources& sources);

}  // namespace dlscale::report
