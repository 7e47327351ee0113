#pragma once
#include <string>
#include <vector>

#include "model/parallel/search/search.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A search as it was asked and run.
struct ParallelPlanAnswer {
  std::string network;
  model::parallel_search::PlanSearch search;
  /// Framework whose options launch the best plan; nullptr: none.
  const model::parallel_search::FrameworkWays* launch = nullptr;
  std::string dtype = "bf16";           ///< of products, as --dtype names it
  double search_s = 0;                  ///< seconds that the search took; for people
  std::vector<std::string> notes = {};  ///< sentences for people
};

/// The best plan of a search and those of other splits, the effect of other choices, time against
/// memory or against GPUs, and launch options. JSON: {"schema": "dlscale.parallel_plan", "version":
/// 1, ...}. Requires a search that found a plan.
Document parallel_plan_document(const ParallelPlanAnswer& answer);

/// A sentence on a search in which nothing fits: by how many GB the nearest plan exceeds the
/// device.
std::string nothing_fits_text(const ParallelPlanAnswer& answer);

}  // namespace dlscale::report
