#pragma once
#include "core/parallel/plan.hpp"
#include "model/memory/rank_memory.hpp"

namespace dlscale::model::parallel_search {

/// A plan that a search visits, in numbers.
struct PlanPoint {
  int gpus = 1;
  int framework = 0;                 ///< that runs it, of the question's
  parallel::ParallelPlan plan = {};  ///< with micro_batch, and bytes of states
  double seconds = 0;                ///< of an iteration
  double joules = 0;                 ///< of all GPUs in an iteration; 0: no power is known
  double score = 0;                  ///< what the search makes least
  memory::MemoryEstimate need = {};  ///< peak of the rank that needs most, as fits() has it
};

/// Whether `one` comes before `other`: by score, then by time, then by memory at its high end, then
/// by the numbers of the plan. The order is strict, so that threads agree on the best.
bool is_before(const PlanPoint& one, const PlanPoint& other);

/// Choices of a plan. Those of ranks are first.
enum class Choice {
  tensor,
  context,
  stages,
  data,
  experts,
  micro_batch,
  schedule,  ///< with its chunks
  sequence_parallel,
  zero,
  zero_group,
  recompute,
  framework,
};
inline constexpr int choice_count = 12;

/// A number that tells values of a choice apart. Of those whose values have an order it is that
/// value.
int value_of(Choice choice, const parallel::ParallelPlan& plan, int framework);
/// Whether values of the choice have an order.
bool is_number(Choice choice);

}  // namespace dlscale::model::parallel_search
