#include "app/predict/stages/predict_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/cli/number_sweep.hpp"
#include "core/parallel/plan.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/stages/predict_stages.hpp"
#include "report/prediction/stages_table.hpp"

namespace dlscale::app {
namespace {

/// Refuses what is answered for transformers alone.
void refuse_others(const Network& network, const StagesQuestion& question) {
  if (question.plans.size() > 1) {
    throw ConfigError(fmt::format(
        "--parallel names {} plans, and {} is answered by its layers, stage by stage. Name one.",
        question.plans.size(), network.name()));
  }
  if (question.other == "--memory") {
    throw ConfigError(fmt::format(
        "--memory adds nothing for {}, whose answer has the memory of each stage. Leave "
        "it out.",
        network.name()));
  }
  if (!question.other.empty()) {
    throw ConfigError(
        fmt::format("{} goes with plans of transformers, and {} is predicted by its layers. Leave "
                    "it out.",
                    question.other, network.name()));
  }
  if (question.global_batch) return;
  throw ConfigError("--parallel leaves the batch of all ranks open. Add --global-batch.");
}

/// Whether the fullest rank has room, in a sentence.
std::string verdict_sentence(const model::StagedTraining& training) {
  if (training.device_memory <= Bytes()) {
    return "Unknown whether it fits: the cluster states no memory of its devices.";
  }
  const auto fullest = std::ranges::max_element(training.memory, {}, &model::PartMemory::total);
  return fmt::format("{}: stage {}, the fullest, needs {:.3g} of {:.3g} GB.",
                     training.fits() ? "Fits" : "Does not fit", fullest - training.memory.begin(),
                     fullest->total().si() / 1e9, training.device_memory.si() / 1e9);
}

/// Completes the plan by the number of ranks, and returns that.
int complete(const StagesQuestion& question, parallel::ParallelPlan& plan) {
  const std::string& text = question.plans.front();
  const bool states_data = text.starts_with("data=") || text.find(",data=") != std::string::npos;
  if (question.ranks.empty()) {
    constexpr std::int64_t most = 1'000'000'000;
    return static_cast<int>(std::min(std::int64_t{plan.data} * plan.stages, most));
  }
  const std::vector<int> ranks = swept_counts("--ranks", question.ranks);
  if (ranks.size() > 1) {
    throw ConfigError(
        "--ranks names several numbers, and a plan in stages is answered for one. Name one.");
  }
  if (!states_data && ranks.front() % plan.stages == 0) plan.data = ranks.front() / plan.stages;
  return ranks.front();
}

}  // namespace

bool is_cut_by_layers(const Network& network) {
  try {
    (void)model::memory::transformer_shape(network);
    return false;
  } catch (const ConfigError&) {
    return true;
  }
}

StagesAnswer stages_answer(const Network& network, const model::Machine& machine, Run run,
                           const StagesQuestion& question) {
  refuse_others(network, question);
  parallel::ParallelPlan plan = parallel::parse_plan(question.plans.front());
  if (plan.stages < 1 || plan.data < 1) parallel::check(plan, 1, {});  // throws
  run.ranks = complete(question, plan);
  const model::StagedTraining training =
      model::predict_stages(network, machine, run, plan, *question.global_batch);
  report::Document document = report::stages_document({run, plan, training});
  const bool too_large = training.device_memory > Bytes() && !training.fits();
  if (question.fits) {
    document.lead = verdict_sentence(training);
    document.tables.clear();
  } else if (too_large) {
    document.lead += " " + verdict_sentence(training);
  }
  return {std::move(document), training.fits()};
}

}  // namespace dlscale::app
