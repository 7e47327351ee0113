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
/// memory or GPUs and against energy, the whole training, and launch options. JSON: {"schema":
/// "dlscale.parallel_plan", "version": 1, ...}. Requires a search that found a plan.
Document parallel_plan_document(const ParallelPlanAnswer& answer);

/// A sentence on a search without a best plan: by how much the nearest plan exceeds the device, or
/// the limits of the whole training.
std::string nothing_found_text(const ParallelPlanAnswer& answer);

}  // namespace dlscale::report
