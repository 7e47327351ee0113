#pragma once
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/time/constants.hpp"
#include "model/parallel/time/passes.hpp"
#include "model/parallel/time/plan_sizes.hpp"

namespace dlscale::model::parallel_time {

/// Launches of kernels and calls of collectives, which a host does for a part of a training.
struct HostCalls {
  double launches = 0;
  double collectives = 0;
};
/// Calls of a layer: forward, and backward with backward_launches for each of forward.
struct LayerCalls {
  HostCalls forward = {};
  HostCalls backward = {};
};
LayerCalls layer_calls(const TimeConstants& constants, const Family& family,
                       const memory::TransformerShape& shape, const PlanSizes& plan,
                       bool has_few_bits);

/// Seconds of the host: h (launches · launch + collectives · host_collective · meet), with
/// meet = max(log2 t, [a collective beside those of t]) / 3, since the hosts of a group meet, and
/// h = compiled_host for compiled steps, else 1. [derived]
double host_time(const TimeConstants& constants, const PlanSizes& plan, const HostCalls& calls);

/// The greater of two times that run side by side, (x^p + y^p)^(1/p) with p = host_power.
double slower_of(const TimeConstants& constants, double device, double host);

}  // namespace dlscale::model::parallel_time
