#include "model/parallel/search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <thread>
#include <utility>

#include "core/base/error.hpp"
#include "model/parallel/search/split_search.hpp"

namespace dlscale::model::parallel_search {
namespace {

constexpr std::size_t most_shown = 8;
constexpr std::size_t most_others = 2;  ///< of a choice whose values have no order
constexpr double worth_showing = 2;     ///< scores over the best of plans in fronts

SearchContext context_of(const parallel_time::ParallelTimeFile& file, const Cluster& cluster,
                         const SearchQuestion& question) {
  SearchContext context;
  context.question = &question;
  for (const int gpus : question.gpus) {
    const parallel_time::ParallelHardware hardware =
        parallel_time::parallel_hardware(cluster, gpus);
    context.jobs.push_back(
        {gpus, hardware, parallel_time::setting_of(file, question.training, hardware)});
  }
  context.facts = parallel_time::facts_of(question.training);
  context.bytes = parallel_time::state_bytes_of(*context.jobs.front().setting.family, {},
                                                question.training.precision);
  context.way = file.implementation_of(question.training.framework);
  return context;
}

/// Visits all splits; threads take the next one that is left. Rethrows the first error of a
/// thread, after all have ended.
Reduction visit_all(const SearchContext& context, const std::vector<Split>& all, int threads) {
  std::vector<Reduction> found(static_cast<std::size_t>(std::max(1, threads)));
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> errors(found.size());
  const auto work = [&](std::size_t thread) {
    try {
      SplitSearch search(context, found[thread]);
      for (std::size_t i = next++; i < all.size(); i = next++) search.visit(all[i]);
    } catch (...) {
      errors[thread] = std::current_exception();
      next = all.size();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < found.size(); ++i) others.emplace_back([&work, i] { work(i); });
    work(0);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  Reduction sum;
  for (const Reduction& each : found) sum.add(each);
  return sum;
}

/// Fills the answer from what a search kept.
class Answer {
 public:
  Answer(const parallel_time::ParallelTimeFile& file, const SearchContext& context)
      : file_(&file), context_(&context) {}

  FoundPlan answer(const PlanPoint& point) const {
    const SizedJob& job = context_->job(point.gpus);
    FoundPlan found{point.gpus,
                    {point.plan, job.hardware, job.setting,
                     parallel_time::predict_plan(*file_, context_->question->training, job.hardware,
                                                 job.setting, point.plan)},
                    0,
                    point.seconds};
    found.score =
        score_of(context_->question->objective, point.gpus, found.answered.answer.seconds());
    return found;
  }

  void fill(const Reduction& found, PlanSearch& search) const {
    std::vector<PlanPoint> splits = found.of_splits();
    std::ranges::sort(splits, is_before);
    search.splits = splits.size();
    for (std::size_t i = 0; i < std::min(most_shown, splits.size()); ++i) {
      search.best.push_back(answer(splits[i]));
    }
    if (splits.empty()) return;
    for (const int gpus : context_->question->gpus) {
      const bool fits = std::ranges::find(splits, gpus, &PlanPoint::gpus) != splits.end();
      if (!fits) search.unfit.push_back(gpus);
    }
    sort_by_score(search.best);  // simulated pipelines may have moved
    const parallel_time::ParallelAnswer& best = search.best.front().answered.answer;
    const double high = best.high();
    search.alike = static_cast<std::size_t>(
        std::ranges::count_if(splits, [&](const PlanPoint& one) { return one.seconds <= high; }));
    search.alike -= search.alike > 0 ? 1 : 0;
    if (context_->jobs.size() == 1) add_memory_front(found.front(), search);
    settle_best(found, search);
    if (context_->jobs.size() > 1) {
      add_gpu_front(splits, search);
    } else {
      search.memory_front.push_back(search.best.front());
      drop_beaten(search.memory_front);
    }
  }

 private:
  static void sort_by_score(std::vector<FoundPlan>& plans) {
    std::ranges::stable_sort(plans, {}, &FoundPlan::score);
  }

  static bool has_same_split(const FoundPlan& one, const FoundPlan& other) {
    const parallel::ParallelPlan& plan = one.answered.answer.plan;
    const parallel::ParallelPlan& beside = other.answered.answer.plan;
    return plan.tensor == beside.tensor && plan.context == beside.context &&
           plan.stages == beside.stages && plan.data == beside.data;
  }

  /// Puts a plan before all others, in place of that of its split.
  static void put_first(FoundPlan better, std::vector<FoundPlan>& best) {
    std::erase_if(best, [&](const FoundPlan& one) {
      if (!has_same_split(one, better)) return false;
      better.searched_s = one.searched_s;
      return true;
    });
    best.insert(best.begin(), std::move(better));
    if (best.size() > most_shown) best.pop_back();
  }

  /// Finds the neighbours of the best plan. One that is better as simulated takes its place.
  void settle_best(const Reduction& found, PlanSearch& search) const {
    constexpr int most_rounds = 4;
    for (int round = 0; round < most_rounds; ++round) {
      search.neighbours.clear();
      add_neighbours(found, search.best.front().answered.answer.plan, search);
      const auto first = std::ranges::min_element(
          search.neighbours, {}, [](const PlanNeighbour& one) { return one.plan.score; });
      if (first == search.neighbours.end()) return;
      if (first->plan.score >= search.best.front().score) return;
      put_first(first->plan, search.best);
    }
  }

  static double memory_of(const FoundPlan& plan) {
    const memory::RankMemory& memory = plan.answered.answer.memory;
    constexpr auto counter = memory::MemoryCounter::device;
    return memory.peak(memory.worst(counter).stage, counter).high;
  }

  /// Leaves plans that no other beats in score and memory, by score.
  static void drop_beaten(std::vector<FoundPlan>& plans) {
    sort_by_score(plans);
    double least = std::numeric_limits<double>::infinity();
    std::erase_if(plans, [&](const FoundPlan& plan) {
      const bool is_beaten = memory_of(plan) >= least;
      least = std::min(least, memory_of(plan));
      return is_beaten;
    });
  }

  void add_neighbours(const Reduction& found, const parallel::ParallelPlan& best,
                      PlanSearch& search) const {
    for (int i = 0; i < choice_count; ++i) {
      const auto choice = static_cast<Choice>(i);
      if (choice == Choice::data) continue;  // it follows from the others
      const int own = value_of(choice, best);
      std::vector<ValueBest> others = found.by_value(choice);
      std::ranges::sort(others, {}, &ValueBest::value);
      const auto at = std::ranges::find(others, own, &ValueBest::value);
      if (is_number(choice)) {
        if (at + 1 != others.end()) search.neighbours.push_back({choice, answer((at + 1)->best)});
        if (at != others.begin()) search.neighbours.push_back({choice, answer((at - 1)->best)});
        continue;
      }
      others.erase(at);
      std::ranges::sort(others, is_before, &ValueBest::best);
      for (std::size_t k = 0; k < std::min(most_others, others.size()); ++k) {
        search.neighbours.push_back({choice, answer(others[k].best)});
      }
    }
  }

  /// At most `most_shown` points, evenly spread, of those that are worth it.
  void add_memory_front(std::vector<PlanPoint> front, PlanSearch& search) const {
    const double most = worth_showing * front.front().score;
    std::erase_if(front, [most](const PlanPoint& point) { return point.score > most; });
    const std::size_t shown = std::min(most_shown, front.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const std::size_t place = shown == 1 ? 0 : i * (front.size() - 1) / (shown - 1);
      search.memory_front.push_back(answer(front[place]));
    }
    for (const FoundPlan& one : search.memory_front) {
      if (one.score < search.best.front().score) put_first(one, search.best);
    }
  }

  void add_gpu_front(const std::vector<PlanPoint>& splits, PlanSearch& search) const {
    std::map<int, const PlanPoint*> quickest;
    for (const PlanPoint& each : splits) {
      const PlanPoint*& best = quickest[each.gpus];
      const bool is_quicker = best == nullptr || each.seconds < best->seconds ||
                              (each.seconds == best->seconds && is_before(each, *best));
      if (is_quicker) best = &each;
    }
    const PlanPoint* last = nullptr;
    for (const auto& [gpus, best] : quickest) {
      if (last != nullptr && best->seconds >= last->seconds) continue;
      search.gpu_front.push_back(answer(*best));
      last = best;
    }
  }

  const parallel_time::ParallelTimeFile* file_;
  const SearchContext* context_;
};

[[noreturn]] void refuse_all(const SearchQuestion& question) {
  throw ConfigError(fmt::format(
      "No plan can be on {} GPUs, whatever its memory: no numbers of ranks divide heads, layers, "
      "tokens and a global batch of {} as asked{}. Change one of these.",
      question.gpus.back(), question.training.global_batch,
      question.ways == nullptr ? "" : fmt::format(", and as {} can", question.ways->title)));
}

}  // namespace

PlanSearch search_plans(const parallel_time::ParallelTimeFile& file, const Cluster& cluster,
                        const SearchQuestion& question, int threads) {
  EXPECT(!question.gpus.empty());
  PlanSearch search{cluster.name, question};
  SearchContext context = context_of(file, cluster, search.question);
  const std::vector<Split> all = splits(search.question, cluster.devices_per_node);
  Reduction found = visit_all(context, all, threads);
  search.timed = found.timed();
  search.missed = found.missed();
  if (found.timed() + found.missed() == 0) refuse_all(question);
  const Answer answers(file, context);
  answers.fill(found, search);
  if (!search.best.empty()) return search;
  context.skips_by_states = false;
  found = visit_all(context, all, threads);
  EXPECT(found.nearest());
  search.nearest = answers.answer(*found.nearest());
  search.nearest_excess = found.nearest_excess();
  return search;
}

}  // namespace dlscale::model::parallel_search
