#pragma once
#include <string>
#include <vector>

#include "app/predict/predict_parts.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// Ranks and the batch of one: what the memory of a rank depends on.
struct MemoryQuestion {
  int ranks = 1;
  int batch = 1;
};

/// The questions of --ranks and --batch, or of shares of a global batch. Where ranks share the
/// memory of a processor, each number of ranks on a node is one; else the first stands for all.
std::vector<MemoryQuestion> memory_questions(const Cluster& cluster, const SweptAxes& axes);

/// The answer of `predict --memory`: what trainings as `run` need for each question, and whether
/// that fits. Notes `assumed` come last. Requires ≥ 1 question.
report::Document memory_answer(const Network& network, const model::Machine& machine,
                               const Run& run, const std::vector<MemoryQuestion>& questions,
                               const std::vector<std::string>& assumed);

}  // namespace dlscale::app
