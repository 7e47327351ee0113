#include "app/predict/parallel/asked_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/number_sweep.hpp"
#include "core/base/error.hpp"
#include "core/parallel/plan.hpp"
#include "core/parallel/plan_text.hpp"

namespace dlscale::app {
namespace {

constexpr double most_ranks = 1e9;

}  // namespace

parallel::ParallelPlan AskedPlan::on(int ranks) const {
  parallel::ParallelPlan filled = plan;
  if (states_data) return filled;
  if (ranks % replica != 0) {
    throw ConfigError(fmt::format(
        "A replica of this plan takes {} ranks (tensor × context × branches × stages), which do "
        "not divide {}. Take a multiple of {}, or another plan.",
        replica, ranks, replica));
  }
  if (ranks / replica > parallel::most_in_plan) {
    throw ConfigError(
        fmt::format("--ranks {} are {} replicas of this plan, and at most {} can be. Take fewer.",
                    ranks, ranks / replica, parallel::most_in_plan));
  }
  filled.data = static_cast<int>(ranks / replica);
  return filled;
}

AskedPlan asked_plan(const std::string& text) {
  AskedPlan asked{parallel::parse_plan(text)};
  double ranks = 1;
  for (const parallel::Axis axis : parallel::all_axes) {
    const int along = parallel::ranks_along(axis, asked.plan);
    if (along < 1) parallel::check(asked.plan, 1, {});  // throws, since it is out of range
    ranks *= along;
  }
  if (ranks > most_ranks) {
    throw ConfigError(fmt::format(
        "The plan of --parallel has {:g} ranks. Write axes whose product is at most {:g}.", ranks,
        most_ranks));
  }
  asked.replica = static_cast<std::int64_t>(ranks) / asked.plan.data;
  std::string words = text;
  std::erase_if(words, [](char letter) { return letter == ' ' || letter == '\t'; });
  asked.states_data = words.starts_with("data=") || words.find(",data=") != std::string::npos;
  return asked;
}

std::vector<int> ranks_of(const AskedPlan& plan, const std::vector<std::string>& asked) {
  if (!asked.empty()) {
    std::vector<int> ranks = swept_counts("--ranks", asked);
    if (plan.states_data && ranks.size() > 1) {
      throw ConfigError(
          "A plan of --parallel states data, and --ranks names several numbers, which data "
          "follows. Leave one of them out.");
    }
    return ranks;
  }
  if (!plan.states_data) {
    throw ConfigError(
        "--parallel leaves open on how many ranks the plan runs. Add --ranks, or data= to the "
        "plan.");
  }
  return {static_cast<int>(plan.replica * plan.plan.data)};
}

int most_gpus(const std::vector<AskedPlan>& plans, const std::vector<std::string>& asked) {
  int most = 1;
  for (const AskedPlan& plan : plans)
    most = std::max(most, std::ranges::max(ranks_of(plan, asked)));
  return most;
}

}  // namespace dlscale::app
