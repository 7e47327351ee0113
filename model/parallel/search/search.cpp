#include "model/parallel/search/search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"
#include "model/goodput/parallel_plan.hpp"
#include "model/parallel/search/choice_faults.hpp"
#include "model/parallel/search/found_plans.hpp"
#include "model/parallel/search/impossible_choices.hpp"
#include "model/parallel/search/split_search.hpp"
#include "model/parallel/uncertain/measured_points.hpp"

namespace dlscale::model::parallel_search {
namespace {

/// A split, and how many plans it has at most.
struct SplitWork {
  Split split;
  double plans = 0;
};

/// The whole training by a plan of which only the iteration is not known yet.
std::optional<goodput::CostQuestion> whole_of(const Cluster& cluster,
                                              const FrameworkContext& framework,
                                              const SizedJob& job,
                                              const std::optional<WholeTraining>& whole) {
  if (!whole) return {};
  parallel_time::ParallelAnswer no_plan;
  no_plan.plan.bytes = framework.bytes;
  no_plan.time.total = 1;
  return goodput::parallel_plan_question(cluster, framework.training, job.hardware, no_plan,
                                         whole->tokens);
}

std::optional<goodput::PhaseWatts> watts_of(const parallel_time::ParallelHardware& hardware) {
  goodput::CostQuestion power;
  power.power.board_w = hardware.device.power_w;
  return goodput::phase_watts(power);
}

FrameworkContext framework_of(const parallel_time::ParallelTimeFile& file, const Cluster& cluster,
                              const SearchQuestion& question, const AskedFramework& asked) {
  FrameworkContext framework;
  framework.ways = asked.ways;
  framework.training = question.training;
  framework.training.framework = asked.name;
  parallel_time::ParallelHardware hardware = parallel_time::parallel_hardware(cluster, 1);
  const std::optional<goodput::PhaseWatts> watts = watts_of(hardware);
  for (const int gpus : question.gpus) {
    hardware.links.gpus = gpus;
    SizedJob job{gpus, hardware, parallel_time::setting_of(file, framework.training, hardware),
                 watts};
    if (question.frameworks.size() > 1) {  // none gains by having been fitted
      job.compared = parallel_time::with_constants(job.setting, file.constants, hardware.links);
    }
    if (question.frameworks.size() == 1 && question.choices.compile.size() == 1) {
      const bool is_asked = question.choices.compile.front() == 1;  // refused if it does not
      static_cast<void>(parallel_time::is_compiled(*job.setting.family, is_asked, asked.name));
    }
    if (framework.jobs.empty()) {
      framework.bytes =
          parallel_time::state_bytes_of(*job.setting.family, {}, framework.training.precision);
    }
    job.whole = whole_of(cluster, framework, job, question.whole);
    framework.jobs.push_back(std::move(job));
  }
  framework.way = file.implementation_of(asked.name);
  return framework;
}

SearchContext context_of(const parallel_time::ParallelTimeFile& file, const Cluster& cluster,
                         const SearchQuestion& question) {
  SearchContext context;
  context.question = &question;
  context.waiting = &file.waiting;
  for (const AskedFramework& asked : question.frameworks) {
    context.frameworks.push_back(framework_of(file, cluster, question, asked));
  }
  context.facts = parallel_time::facts_of(question.training);
  const SizedJob& first = context.frameworks.front().jobs.front();
  if (question.objective == Objective::energy && !first.watts) {
    throw ConfigError(
        fmt::format("The data sheet of {} states no power, from which energy follows. Search for "
                    "the least time "
                    "or cost.",
                    first.hardware.device.name));
  }
  return context;
}

std::vector<SplitWork> work_of(const SearchQuestion& question, int node_gpus) {
  std::vector<SplitWork> all;
  double plans = 0;
  for (const int gpus : question.gpus) {
    for (const Split& split : splits(question, gpus, node_gpus)) {
      all.push_back({split, most_plans(question, split)});
      plans += all.back().plans;
    }
    if (plans <= most_searched) continue;
    throw ConfigError(fmt::format(
        "On up to {} GPUs there are more than {:.0f} million plans (a search would take minutes). "
        "Name fewer numbers of GPUs, one framework, or choices such as zero_group=0.",
        gpus, most_searched / 1e6));
  }
  return all;
}

/// Visits all splits; threads take the next one that is left. Rethrows the first error of a
/// thread, after all have ended.
Reduction visit_all(const SearchContext& context, const std::vector<SplitWork>& all,
                    const SearchWork& work) {
  double plans = 0;
  for (const SplitWork& one : all) plans += one.plans;
  std::vector<Reduction> found(static_cast<std::size_t>(std::max(1, work.threads)));
  std::atomic<std::size_t> next = 0;
  std::atomic<double> done = 0;
  std::vector<std::exception_ptr> errors(found.size());
  const auto visit = [&](std::size_t thread) {
    try {
      SplitSearch search(context, found[thread]);
      for (std::size_t i = next++; i < all.size(); i = next++) {
        search.visit(all[i].split);
        const double so_far = done.fetch_add(all[i].plans) + all[i].plans;
        if (thread == 0 && work.progress) work.progress(so_far / plans);
      }
    } catch (...) {
      errors[thread] = std::current_exception();
      next = all.size();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < found.size(); ++i) others.emplace_back([&visit, i] { visit(i); });
    visit(0);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  Reduction sum;
  for (const Reduction& each : found) sum.add(each);
  return sum;
}

[[noreturn]] void refuse_all(const SearchContext& context, int node_gpus, bool has_splits) {
  const SearchQuestion& question = *context.question;
  if (const std::string fault = choice_fault(question); !fault.empty()) throw ConfigError(fault);
  if (const std::string why = impossible_choice(context, node_gpus); !why.empty()) {
    throw ConfigError(why);
  }
  if (has_splits) {  // ranks divide, and no choice alone was found to be the reason
    throw ConfigError(
        fmt::format("No plan can be on {} as asked, and dlscale did not find which choice is the "
                    "reason. Leave some out.",
                    counted(question.gpus.back(), "GPU")));
  }
  std::vector<std::string_view> titles;
  for (const AskedFramework& asked : question.frameworks) {
    if (asked.ways != nullptr) titles.push_back(asked.ways->title);
  }
  throw ConfigError(fmt::format(
      "No plan can be on {}, whatever its memory: no numbers of ranks divide heads, layers, "
      "tokens and a global batch of {} as asked{}. Change one of these.",
      counted(question.gpus.back(), "GPU"), question.training.global_batch,
      titles.empty() ? "" : fmt::format(", and as {} can", fmt::join(titles, " or "))));
}

}  // namespace

PlanSearch search_plans(const parallel_time::ParallelTimeFile& file, const Cluster& cluster,
                        const SearchQuestion& question, const SearchWork& work) {
  EXPECT(!question.gpus.empty() && !question.frameworks.empty());
  PlanSearch search{cluster.name, question};
  const std::vector<SplitWork> all = work_of(question, cluster.devices_per_node);
  const SearchContext context = context_of(file, cluster, search.question);
  if (const std::string why = unrun_schedule(context); !why.empty()) throw ConfigError(why);
  const Reduction found = visit_all(context, all, work);
  search.timed = found.timed();
  search.missed = found.missed();
  search.exceeded = found.exceeded();
  search.simulated = found.simulated();
  if (found.timed() + found.missed() == 0) {
    refuse_all(context, cluster.devices_per_node, !all.empty());
  }
  fill(FoundPlans(file, cluster, context), found, search);
  return search;
}

}  // namespace dlscale::model::parallel_search
