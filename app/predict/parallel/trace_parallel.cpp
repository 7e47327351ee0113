#include "app/predict/parallel/trace_parallel.hpp"

#include <fmt/format.h>

#include <vector>

#include "core/base/error.hpp"
#include "core/parallel/plan_text.hpp"
#include "core/results/trace_event.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "model/parallel/answer/answered_timeline.hpp"
#include "model/parallel/timeline/part_costs.hpp"
#include "report/parallel_explain/parallel_trace.hpp"

namespace dlscale::app {

void trace_parallel(const ParallelCall& call, const std::string& path) {
  if (path == "-") {
    throw ConfigError(
        "--trace - would mix the time line with the answer on standard output. Name a file.");
  }
  refuse_shared_output(path, fmt::format("the trace {}", path));
  refuse_foreign_file(path, "a trace of dlscale", is_trace);
  std::vector<report::TracedPlan> plans;
  for (const model::parallel_time::AnsweredPlan& row : call.rows) {
    const std::string plan = parallel::to_text(row.asked);
    plans.push_back(
        {fmt::format("{} on {}, {}{}{}", call.network, call.cluster,
                     counted(row.asked.data, "replica"), plan.empty() ? "" : ", ", plan),
         shape_of(row.answer.sizes), timeline_of(row), Seconds(row.answer.seconds())});
  }
  write_output(path, report::parallel_trace(plans));
}

}  // namespace dlscale::app
