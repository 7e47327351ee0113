#include "model/parallel/search/plan_point.hpp"

#include <tuple>

namespace dlscale::model::parallel_search {
namespace {

constexpr int schedules = 256;  ///< first letters, which differ

auto numbers_of(const PlanPoint& point) {
  const parallel::ParallelPlan& plan = point.plan;
  return std::make_tuple(point.gpus, point.framework, plan.tensor, plan.context, plan.stages,
                         plan.experts, plan.zero, plan.zero_group.value_or(0), plan.chunks,
                         plan.micro_batch.value_or(0), plan.sequence_parallel,
                         static_cast<int>(plan.recompute), plan.recompute_layers);
}

}  // namespace

bool is_before(const PlanPoint& one, const PlanPoint& other) {
  if (one.score != other.score) return one.score < other.score;
  if (one.seconds != other.seconds) return one.seconds < other.seconds;
  if (one.need.high != other.need.high) return one.need.high < other.need.high;
  const auto own = numbers_of(one);
  const auto others = numbers_of(other);
  if (own != others) return own < others;
  return one.plan.schedule < other.plan.schedule;
}

int value_of(Choice choice, const parallel::ParallelPlan& plan, int framework) {
  switch (choice) {
    case Choice::tensor:
      return plan.tensor;
    case Choice::context:
      return plan.context;
    case Choice::stages:
      return plan.stages;
    case Choice::data:
      return plan.data;
    case Choice::experts:
      return plan.experts;
    case Choice::micro_batch:
      return plan.micro_batch.value_or(0);
    case Choice::schedule:
      return plan.chunks * schedules + static_cast<unsigned char>(plan.schedule.front());
    case Choice::sequence_parallel:
      return plan.sequence_parallel ? 1 : 0;
    case Choice::zero:
      return plan.zero;
    case Choice::zero_group:
      return plan.zero_group.value_or(0);
    case Choice::recompute:
      return static_cast<int>(plan.recompute);
    case Choice::framework:
      return framework;
  }
  return 0;  // every case is above
}

bool is_number(Choice choice) {
  return choice <= Choice::micro_batch;
}

}  // namespace dlscale::model::parallel_search
