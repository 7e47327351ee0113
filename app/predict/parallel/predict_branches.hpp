#pragma once
#include <string_view>
#include <vector>

#include "app/predict/parallel/asked_plan.hpp"
#include "app/predict/parallel/predict_parallel.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// Throws ConfigError, since `option` asks what an answer about branches does not hold.
[[noreturn]] void refuse_beside_branches(std::string_view option);

/// Plans of data and branches alone on a cluster of data sheets, for any network, beside data
/// parallelism on as many ranks. Throws ConfigError, also for plans with other keys and for options
/// that only plans of transformers know.
report::Document predict_branches(const ParallelInputs& inputs,
                                  const std::vector<AskedPlan>& plans);

}  // namespace dlscale::app
