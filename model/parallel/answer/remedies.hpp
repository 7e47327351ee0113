#pragma once
#include <functional>
#include <string>
#include <vector>

#include "model/parallel/answer/answer.hpp"

namespace dlscale::model::parallel_time {

/// A change of a plan by which it fits its GPUs.
struct Remedy {
  std::string change;  ///< "recompute=full", "data=2,tensor=16"
  ParallelAnswer answer;
  /// Whether the whole interval of its memory fits.
  [[nodiscard]] bool is_sure() const { return answer.verdict.is_sure; }
};

/// Whether software runs a plan; empty: any.
using RunsPlan = std::function<bool(const parallel::ParallelPlan&)>;

/// Plans near this one that `runs` and that surely fit as many GPUs of this kind, the quickest
/// first. Each goes as far in one direction as it must: a smaller micro-batch, more recomputation,
/// one more stage of ZeRO, or twice the tensor-parallel ranks of a node or the stages, each with
/// fewer replicas. Where none of these surely fits, two of them are combined. If none of these does
/// either, all are plans that probably fit, unless this one does, too. Empty if nothing is left.
/// Requires a plan without faults.
std::vector<Remedy> remedies(const ParallelTimeFile& file, const ParallelQuestion& question,
                             const ParallelHardware& hardware, const Setting& setting,
                             const parallel::ParallelPlan& plan, const RunsPlan& runs = {});

}  // namespace dlscale::model::parallel_time
