// Plans of parallel training, as command lines have them: read, written, checked, and run by the
// model of pipelines.
#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/parallel/grid.hpp"
#include "core/parallel/plan_text.hpp"
#include "core/parallel/schedule/check_schedule.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/parallel/pipeline/closed_form.hpp"
#include "tests/fuzz/expect.hpp"
#include "tests/fuzz/targets.hpp"

namespace dlscale::fuzz {
namespace {

/// Larger schedules are only timed by their closed forms, and larger groups not listed.
constexpr int most_listed = 2000;

/// Parts that differ, with messages between them.
model::PipelineCosts costs_of(const parallel::PipelineShape& shape) {
  model::PipelineCosts costs;
  for (int part = 0; part < shape.parts(); ++part) {
    costs.forward.emplace_back(1 + 0.25 * (part % 3));
    costs.backward.emplace_back(2 * costs.forward.back());
    costs.backward_weights.push_back(0.5 * costs.backward.back());
    if (part > 0) costs.boundary.emplace_back(0.1);
  }
  return costs;
}

void expect_timed(const parallel::PipelineSchedule& schedule,
                  const parallel::PipelineShape& shape) {
  const model::PipelineCosts costs = costs_of(shape);
  const model::MakespanBounds bounds = model::closed_form(schedule, shape, costs);
  expect_time("the quick end of a pipeline", bounds.lower);
  expect_time("the slow end over it", bounds.upper - bounds.lower);
  if (std::int64_t{shape.parts()} * shape.micro_batches > most_listed) return;
  const parallel::Schedule lists = schedule.schedule(shape);
  parallel::check_schedule(lists, schedule.delivery);
  const Seconds time = model::simulate(lists, costs).makespan;
  expect_time("a pipeline over its bound", time * (1 + 1e-9) - bounds.lower);
  expect_time("the bound over a pipeline", bounds.upper * (1 + 1e-9) - time);
}

void expect_placed(const parallel::ParallelPlan& plan) {
  const parallel::Grid grid(plan);
  const Rank last = grid.ranks() - 1;
  for (const parallel::Axis axis : parallel::all_axes) {
    if (parallel::ranks_along(axis, plan) > most_listed) continue;
    const auto spread = parallel::spread_over_nodes(grid.group(last, axis), 8);
    if (spread.nodes < 1) throw std::logic_error("a group without nodes");
  }
}

}  // namespace

std::vector<std::string> plan_seeds() {
  return {"data= 8,tensor= 4,sequence_parallel=true,stages= 2,micro_batch= 1,optimizer=adam",
          "stages= 4,chunks= 2,schedule=interleaved,micro_batches= 8,stage_layers=9/9/9/9/9/9/9/8",
          "data= 4,experts= 4,context= 2,zero= 3,zero_group= 2,recompute=block,recompute_layers= 2",
          "data= 4,stages= 2,micro_batches= 4,order=tensor/data/context/branches/stages",
          "branches= 4,weight_bytes= 2,gradient_bytes= 2,main_gradient_bytes= 4,master_bytes= 4",
          "moment_bytes= 8,zero= 1,stages= 3,schedule=zero_bubble,micro_batches= 6",
          "stages= 4,schedule=gems_master,micro_batches= 6,recompute=full"};
}

void use_plan(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const parallel::ParallelPlan plan = parallel::parse_plan(text);
  if (parallel::parse_plan(parallel::to_text(plan)) != plan) {
    throw std::logic_error("a plan is another once it was written: " + parallel::to_text(plan));
  }
  std::int64_t devices = 1;
  for (const parallel::Axis axis : parallel::all_axes) {
    if (devices < 1'000'000) devices *= parallel::ranks_along(axis, plan);
  }
  parallel::check(plan, devices, {});
  expect_timed(parallel::find_schedule(plan.schedule), parallel::pipeline_of(plan, {}));
  expect_placed(plan);
}

}  // namespace dlscale::fuzz
