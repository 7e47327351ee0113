#pragma once
#include <string>
#include <string_view>

#include "core/config/config_file.hpp"
#include "core/parallel/plan.hpp"

namespace dlscale::parallel {

/// Reads a plan as command lines have it: "data=8,tensor=4,stages=2,micro_batch=1,zero=1". Keys are
/// those of ParallelPlan, and weight_bytes, gradient_bytes, main_gradient_bytes, master_bytes and
/// moment_bytes; what is left out keeps its default. Numbers of a list are separated by slashes:
/// "stage_layers=7/8/8/7", "order=tensor/context/branches/data/stages". Throws ConfigError for what
/// cannot be read; check() says whether the plan fits.
ParallelPlan parse_plan(std::string_view text);

/// The inverse: the keys that are not at their defaults, in the order of ParallelPlan; empty for
/// the default plan.
std::string to_text(const ParallelPlan& plan);

/// Reads the same keys from a mapping of a configuration file, in which lists may be lists.
ParallelPlan read_plan(const ConfigMap& map);

}  // namespace dlscale::parallel
