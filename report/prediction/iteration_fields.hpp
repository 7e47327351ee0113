#pragma once
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

/// All fields of a prediction for records and JSON: its run (an object in JSON) and all of the
/// above.
Fields<model::Prediction> prediction_fields();

/// "89.1 – 92.3" in ms, or "–" without an interval.
std::string predicted_interval_text(const model::Prediction& prediction);

/// "forward measured, backward measured"; empty if unknown.
std::string basis_text(const model::PhaseSources& sources);

}  // namespace dlscale::report
