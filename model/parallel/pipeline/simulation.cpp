#include "model/parallel/pipeline/simulation.hpp"

#include <algorithm>

#include "model/parallel/pipeline/simulator.hpp"

namespace dlscale::model {

double PipelineTime::bubble() const {
  const double all = makespan.si() * static_cast<double>(busy.size());
  if (all <= 0) return 0;
  double computing = 0;
  for (const Seconds time : busy) computing += time.si();
  return std::clamp(1 - computing / all, 0.0, 1.0);
}

PipelineTime simulate(const parallel::Schedule& schedule, const PipelineCosts& costs) {
  return PipelineSimulator(schedule, costs, nullptr).run();
}

PipelineTimeline timeline(const parallel::Schedule& schedule, const PipelineCosts& costs) {
  PipelineTimeline result;
  result.time = PipelineSimulator(schedule, costs, &result.ranks).run();
  return result;
}

}  // namespace dlscale::model
