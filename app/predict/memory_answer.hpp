#pragma once
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// The answer of `predict --memory`: what trainings as `run` need with each of the batches (of one
/// rank), and whether that fits. Notes `assumed` come last. Requires ≥ 1 batch.
report::Document memory_answer(const Network& network, const model::Machine& machine,
                               const Run& run, const std::vector<int>& batches,
                               const std::vector<std::string>& assumed);

}  // namespace dlscale::app
