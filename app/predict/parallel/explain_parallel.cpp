#include "app/predict/parallel/explain_parallel.hpp"

#include <string>
#include <vector>

#include "app/predict/parallel/plan_notes.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/parallel/answer/answered_timeline.hpp"
#include "report/parallel_explain/parallel_explanation.hpp"

namespace dlscale::app {
namespace {

using model::parallel_time::AnsweredPlan;

/// Changes that help. Of the plan, the framework runs them.
std::vector<model::parallel_time::Improvement> changes_of(const ParallelCall& call,
                                                          const AnsweredPlan& row) {
  const auto& [asked, hardware, setting, answer] = row;
  auto found = improvements(*call.file, call.question, hardware, setting, asked, answer);
  if (const auto runs = runs_of(call)) {
    std::erase_if(found, [&](const model::parallel_time::Improvement& one) {
      return !one.plan.empty() && !runs(one.answer.plan);
    });
  }
  return found;
}

report::ParallelExplanation explanation_of(const ParallelCall& call, const Cluster& cluster,
                                           const AnsweredPlan& row) {
  const auto& [asked, hardware, setting, answer] = row;
  report::ParallelExplanation one{.network = call.network,
                                  .cluster = call.cluster,
                                  .plan = parallel::to_text(asked),
                                  .gpus = static_cast<int>(hardware.links.gpus),
                                  .answer = answer,
                                  .parts = step_losses(setting, answer),
                                  .device_bytes = hardware.memory,
                                  .improvements = changes_of(call, row),
                                  .groups = model::parallel_time::group_links(
                                      asked, static_cast<int>(hardware.links.node_gpus)),
                                  .near_link = cluster.intra_node.name,
                                  .far_link = cluster.inter_node.name};
  if (asked.stages > 1) one.timeline = timeline_of(row);
  one.measured = call.measured;
  return one;
}

}  // namespace

report::Document explain_parallel(const ParallelCall& call, const Cluster& cluster,
                                  const std::vector<std::string>& doubts) {
  std::vector<report::ParallelExplanation> all;
  for (const AnsweredPlan& row : call.rows) all.push_back(explanation_of(call, cluster, row));
  all.front().doubts = doubts;
  return report::parallel_explanation_document(all);
}

}  // namespace dlscale::app
