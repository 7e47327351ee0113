#include "model/parallel/answer/remedies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "core/parallel/plan_text.hpp"

namespace dlscale::model::parallel_time {
namespace {

using parallel::ParallelPlan;
using parallel::Recompute;

/// The next plan in one direction; nothing at its end.
using Step = std::function<std::optional<ParallelPlan>(const ParallelPlan&)>;

class Directions {
 public:
  Directions(const ParallelQuestion& question, const ParallelHardware& hardware,
             const RunsPlan& runs)
      : question_(&question), node_gpus_(hardware.links.node_gpus), runs_(&runs) {}

  /// Whether the software runs the plan.
  [[nodiscard]] bool run(const ParallelPlan& plan) const { return !*runs_ || (*runs_)(plan); }

  [[nodiscard]] std::vector<Step> all() const {
    return {[this](const ParallelPlan& plan) { return smaller_micro_batch(plan); },
            [](const ParallelPlan& plan) { return more_recomputation(plan); },
            [](const ParallelPlan& plan) { return more_sharding(plan); },
            [this](const ParallelPlan& plan) { return more_tensor(plan); },
            [](const ParallelPlan& plan) { return more_stages(plan); }};
  }

 private:
  [[nodiscard]] std::optional<ParallelPlan> smaller_micro_batch(const ParallelPlan& plan) const {
    const std::int64_t now =
        parallel::batches_of(plan, facts_of(*question_)).micro_batch.value_or(1);
    if (now <= 1 || now % 2 != 0) return std::nullopt;
    ParallelPlan other = plan;
    other.micro_batch = static_cast<int>(now / 2);
    if (other.micro_batches) *other.micro_batches *= 2;
    return other;
  }

  static std::optional<ParallelPlan> more_recomputation(const ParallelPlan& plan) {
    if (plan.recompute == Recompute::full) return std::nullopt;
    ParallelPlan other = plan;
    other.recompute_layers = 0;
    other.recompute = plan.recompute == Recompute::none ? Recompute::selective : Recompute::full;
    return other;
  }

  static std::optional<ParallelPlan> more_sharding(const ParallelPlan& plan) {
    if (plan.zero >= 3 || plan.data * plan.context == 1) return std::nullopt;
    ParallelPlan other = plan;
    ++other.zero;
    return other;
  }

  [[nodiscard]] std::optional<ParallelPlan> more_tensor(const ParallelPlan& plan) const {
    if (plan.data % 2 != 0 || 2 * plan.tensor > node_gpus_) return std::nullopt;
    ParallelPlan other = plan;
    other.tensor *= 2;
    other.data /= 2;
    // Else it is a fault of experts, or a plan that some software does not run.
    if (other.experts > 1 || !run(other)) other.sequence_parallel = true;
    return other;
  }

  static std::optional<ParallelPlan> more_stages(const ParallelPlan& plan) {
    if (plan.data % 2 != 0 || !plan.stage_layers.empty()) return std::nullopt;
    ParallelPlan other = plan;
    other.stages *= 2;
    other.data /= 2;
    return other;
  }

  const ParallelQuestion* question_;
  double node_gpus_;
  const RunsPlan* runs_;
};

std::vector<std::string> words_of(const ParallelPlan& plan) {
  const std::string text = parallel::to_text(plan);
  std::vector<std::string> words;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find(',', from), text.size());
    words.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return words;
}

/// Keys that the text of one plan has and the other's has not. It names replicas where they differ.
std::string changes(const ParallelPlan& from, const ParallelPlan& to) {
  const std::vector<std::string> before = words_of(from);
  std::vector<std::string> after = words_of(to);
  std::erase_if(after, [&](const std::string& word) {
    return std::ranges::find(before, word) != before.end();
  });
  if (from.data != to.data && to.data == 1) after.insert(after.begin(), "data=1");
  return fmt::format("{}", fmt::join(after, ","));
}

class Search {
 public:
  Search(const ParallelTimeFile& file, const ParallelQuestion& question,
         const ParallelHardware& hardware, const Setting& setting, const ParallelPlan& asked,
         const RunsPlan& runs)
      : file_(&file),
        question_(&question),
        hardware_(&hardware),
        setting_(&setting),
        asked_(&asked),
        way_(file.implementation_of(question.framework)),
        facts_(facts_of(question)),
        directions_(question, hardware, runs),
        steps_(directions_.all()) {}
  Search(const Search&) = delete;  // steps hold its directions
  Search& operator=(const Search&) = delete;

  /// Adds the first plan in each direction from `plan` that surely fits or, if there is none, the
  /// first that probably fits.
  void look(const ParallelPlan& plan, std::vector<Remedy>& found) const {
    for (const Step& step : steps_) {
      std::optional<ParallelPlan> first;
      for (std::optional<ParallelPlan> next = step(plan); next; next = step(*next)) {
        if (!is_possible(*next)) continue;
        const memory::MemoryVerdict verdict = verdict_of(*next);
        if (!verdict.fits || (first && !verdict.is_sure)) continue;
        first = next;
        if (verdict.is_sure) break;
      }
      if (!first) continue;
      found.push_back({changes(*asked_, *first),
                       predict_plan(*file_, *question_, *hardware_, *setting_, *first)});
    }
  }

  /// Looks from each plan of each direction.
  void look_for_pairs(std::vector<Remedy>& found) const {
    for (const Step& step : steps_) {
      for (std::optional<ParallelPlan> next = step(*asked_); next; next = step(*next)) {
        look(*next, found);
      }
    }
  }

  /// The verdict of predict_plan(), without the time, which may take longer to find.
  [[nodiscard]] memory::MemoryVerdict verdict_of(const ParallelPlan& plan) const {
    const memory::MemorySetup setup = memory_setup_of(*question_, *setting_, plan);
    return memory::fits(memory::rank_memory(question_->shape, setup, way_), hardware_->memory);
  }

 private:
  [[nodiscard]] bool is_possible(const ParallelPlan& plan) const {
    const auto gpus = static_cast<std::int64_t>(hardware_->links.gpus);
    return parallel::faults(plan, gpus, facts_).empty() && !fault_of_order(plan) &&
           directions_.run(plan);
  }

  const ParallelTimeFile* file_;
  const ParallelQuestion* question_;
  const ParallelHardware* hardware_;
  const Setting* setting_;
  const ParallelPlan* asked_;
  memory::Implementation way_;
  parallel::NetworkFacts facts_;
  Directions directions_;
  std::vector<Step> steps_;
};

/// The quickest first, and of plans that two ways lead to, one.
void sort_and_thin(std::vector<Remedy>& found) {
  std::ranges::stable_sort(found, {}, [](const Remedy& one) { return one.answer.seconds(); });
  const auto repeated = std::ranges::unique(found, [](const Remedy& one, const Remedy& other) {
    return one.answer.plan == other.answer.plan;
  });
  found.erase(repeated.begin(), repeated.end());
}

}  // namespace

std::vector<Remedy> remedies(const ParallelTimeFile& file, const ParallelQuestion& question,
                             const ParallelHardware& hardware, const Setting& setting,
                             const ParallelPlan& plan, const RunsPlan& runs) {
  const Search search(file, question, hardware, setting, plan, runs);
  std::vector<Remedy> found;
  search.look(plan, found);
  if (std::ranges::none_of(found, &Remedy::is_sure)) search.look_for_pairs(found);
  if (search.verdict_of(plan).fits || std::ranges::any_of(found, &Remedy::is_sure)) {
    std::erase_if(found, [](const Remedy& one) { return !one.is_sure(); });
  }
  sort_and_thin(found);
  return found;
}

}  // namespace dlscale::model::parallel_time
