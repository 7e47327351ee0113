#pragma once
#include <string>

#include "core/cluster/cluster.hpp"
#include "core/run/run.hpp"

namespace dlscale::model {

/// In what a prediction from data sheets is unlike all published trainings that its interval of
/// computing rests on (data_sheet_shares.hpp), as one sentence: on a processor, in a precision that
/// none was in, in f32 on a device that offers TF32, on one whose peak or memory is by more than a
/// quarter quicker or slower than any there, with less than half the smallest batch. [Both bounds
/// are conventions.] Empty where it is like them. The interval is no wider for it: nothing tells by
/// how much.
std::string beyond_evidence(const Cluster& cluster, const Run& run);

}  // namespace dlscale::model
