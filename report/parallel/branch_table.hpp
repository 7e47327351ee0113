#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "model/parallel/branches/branch_iteration.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A plan of data and sub-graph parallelism on a number of ranks.
struct BranchRow {
  std::string plan;  ///< "data=8,branches=8"; empty: one rank
  int ranks = 1;
  int branches = 1;
  model::BranchIteration iteration;
  double gain = 1;  ///< time of data parallelism on as many ranks over that of the plan
};

/// The question and its rows.
struct BranchAnswer {
  std::string network;
  std::string cluster;
  std::string dtype;
  std::string samples;            ///< "images" or "sequences"
  std::int64_t global_batch = 1;  ///< samples
  Bytes device_memory;            ///< that a GPU can allocate
  std::vector<BranchRow> rows = {};
  std::vector<std::string> notes = {};
};

/// Sub-graphs side by side, a row a plan. Columns: GPUs, samples a second, the step, the gain over
/// data parallelism, memory of a rank with its verdict, and the largest part of the step. A second
/// table has the parts, which add up. In records and JSON ("dlscale.branch_prediction", version 1)
/// values are in SI units. Requires ≥ 1 row.
Document branch_document(const BranchAnswer& answer);

/// The verdicts on memory alone, for `--fits`. The same records and JSON.
Document branch_fit_document(const BranchAnswer& answer);

}  // namespace dlscale::report
