#include "model/parallel/search/search.hpp"
#include "model/memory/library_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/parallel/search/rank_need.hpp"
#include "tests/core/support.hpp"
#include "tests/model/parallel/search_space.hpp"

/// The search finds what trying all plans one by one finds.
namespace dlscale::model::parallel_search {
namespace {

PlanSearch searched(const SearchQuestion& question, const Cluster& cluster, int threads = 2) {
  return search_plans(parallel_time::parallel_times(), cluster, question, {threads});
}

std::string text_of(const FoundPlan& found) {
  return parallel::to_text(found.answered.answer.plan);
}

using SplitKey = std::tuple<int, int, int, int>;
SplitKey split_of(const parallel::ParallelPlan& plan) {
  return {plan.tensor, plan.context, plan.stages, plan.data};
}

constexpr double rounding = 1e-12;

/// Holds the search against all plans, each with its own simulated pipeline: the best of each
/// split, the numbers of plans but for blocks, and how many splits are alike.
void expect_all_found(const SearchQuestion& question, const Cluster& cluster, int most_batch) {
  const int gpus = question.gpus.front();
  const std::vector<SlowPlan> all = all_plans(question, cluster, gpus, most_batch);
  std::map<SplitKey, double> best;
  std::size_t fit = 0;
  std::size_t missed = 0;
  for (const SlowPlan& one : all) {
    const bool is_block = one.plan.recompute == parallel::Recompute::block;
    if (!is_block) ++(one.fits ? fit : missed);
    if (!one.fits) continue;
    const auto [at, is_new] = best.emplace(split_of(one.plan), one.seconds);
    if (!is_new) at->second = std::min(at->second, one.seconds);
  }
  ASSERT_FALSE(best.empty());
  const PlanSearch search = searched(question, cluster);
  EXPECT_EQ(search.splits, best.size());
  EXPECT_EQ(search.missed, missed);
  EXPECT_GE(search.timed, fit);  // with blocks
  double last = 0;
  for (const FoundPlan& found : search.best) {
    const double seconds = found.answered.answer.seconds();
    EXPECT_NEAR(seconds / best.at(split_of(found.answered.answer.plan)), 1, rounding)
        << text_of(found);
    EXPECT_GE(found.score, last);
    last = found.score;
  }
  const auto least = std::ranges::min_element(best, {}, [](const auto& one) { return one.second; });
  EXPECT_NEAR(search.best.front().score / least->second, 1, rounding);
  const double most = (1 + close_share) * least->second;
  const auto close =
      std::ranges::count_if(best, [most](const auto& one) { return one.second <= most; });
  EXPECT_EQ(search.close + 1, static_cast<std::size_t>(close));
}

TEST(ParallelSearch, FindsTheBestOfAllPlans) {
  expect_all_found(question_of("gpt2", {4}, 8), load_cluster("dgx_a100"), 8);
}

TEST(ParallelSearch, FindsTheBestWhereMemoryIsShort) {
  const SearchQuestion question = question_of("gpt2_xl", {4}, 4);
  const Cluster cluster = load_cluster("p3_16xlarge");
  EXPECT_GT(searched(question, cluster).missed, 0U);
  expect_all_found(question, cluster, 4);
}

TEST(ParallelSearch, FindsTheBestThatLikelyFits) {
  SearchQuestion question = question_of("gpt2_large", {4}, 2);
  question.fit = Fit::likely;
  expect_all_found(question, load_cluster("p3_16xlarge"), 2);
}

TEST(ParallelSearch, FindsTheBestOfEachFramework) {
  for (const FrameworkWays& ways : framework_ways()) {
    expect_all_found(question_of("gpt2", {4}, 4, std::string(ways.name)), load_cluster("dgx_a100"),
                     4);
  }
}

TEST(ParallelSearch, FindsUnevenStages) {
  expect_all_found(question_of("gpt2", {5}, 5), load_cluster("dgx_a100"), 5);
}

/// Choices that leave one plan, whose score is the search's own number.
PlanChoices only(const parallel::ParallelPlan& plan) {
  PlanChoices choices;
  choices.tensor = {plan.tensor};
  choices.context = {plan.context};
  choices.stages = {plan.stages};
  choices.data = {plan.data};
  choices.experts = {plan.experts};
  choices.chunks = {plan.chunks};
  choices.micro_batch = {plan.micro_batch.value_or(1)};
  choices.zero = {plan.zero};
  choices.zero_group = {plan.zero_group.value_or(0)};
  choices.schedules = {plan.schedule};
  choices.sequence_parallel = {plan.sequence_parallel ? 1 : 0};
  choices.recompute = {plan.recompute};
  return choices;
}

/// Neighbours and fronts hold no plan that the best of its split does not equal or beat.
void expect_one_best(const PlanSearch& search) {
  std::map<SplitKey, double> best;
  for (const FoundPlan& found : search.best) {
    const bool is_new =
        best.emplace(split_of(found.answered.answer.plan), found.answered.answer.seconds()).second;
    EXPECT_TRUE(is_new) << text_of(found);
  }
  const double slowest_shown = search.best.back().answered.answer.seconds();
  std::vector<FoundPlan> others = search.memory_front;
  for (const PlanNeighbour& each : search.neighbours) others.push_back(each.plan);
  others.insert(others.end(), search.energy_front.begin(), search.energy_front.end());
  ASSERT_GT(others.size(), 10U);
  for (const FoundPlan& found : others) {
    const auto at = best.find(split_of(found.answered.answer.plan));
    const double least = at == best.end() ? slowest_shown : at->second;
    EXPECT_GE(found.answered.answer.seconds(), least * (1 - rounding)) << text_of(found);
  }
}

TEST(ParallelSearch, ShowsOneBestPlanOfASplit) {
  const Cluster cluster = load_cluster("dgx_h100");
  expect_one_best(searched(question_of("llama2_7b", {16}, 32), cluster));
  expect_one_best(searched(question_of("mixtral_8x7b", {16}, 32), cluster));
  expect_one_best(searched(question_of("llama3_70b", {64}, 128, "megatron"), cluster));
}

/// A plan that the closed form ranks elsewhere, with more chunks than that would choose.
TEST(ParallelSearch, FindsNoSlowerPlanThanAnyNumberOfChunks) {
  const Cluster cluster = load_cluster("dgx_h100");
  SearchQuestion question = question_of("llama3_70b", {64}, 128, "megatron");
  const PlanSearch all = searched(question, cluster, 1);
  EXPECT_GT(all.simulated, 0U);
  EXPECT_LT(all.simulated, all.timed);
  const parallel::ParallelPlan& best = all.best.front().answered.answer.plan;
  question.choices = only(best);
  question.choices.schedules = {"interleaved"};
  std::size_t tried = 0;
  for (const int chunks : {2, 4, 5, 10, 20}) {
    question.choices.chunks = {chunks};
    if (80 / best.stages % chunks != 0) continue;
    const PlanSearch some = searched(question, cluster, 1);
    if (some.best.empty()) continue;
    EXPECT_GE(some.best.front().score, all.best.front().score * (1 - rounding)) << chunks;
    ++tried;
  }
  EXPECT_GT(tried, 2U);
}

TEST(ParallelSearch, FindsEachPlanByItsOwnChoices) {
  const Cluster cluster = load_cluster("dgx_h100");
  for (const char* network : {"llama2_7b", "mixtral_8x7b"}) {
    SearchQuestion question = question_of(network, {16}, 32);
    const PlanSearch some = searched(question, cluster);
    std::vector<FoundPlan> plans = some.best;
    for (const PlanNeighbour& each : some.neighbours) plans.push_back(each.plan);
    plans.insert(plans.end(), some.memory_front.begin(), some.memory_front.end());
    ASSERT_GT(plans.size(), 15U);
    for (const FoundPlan& found : plans) {
      question.choices = only(found.answered.answer.plan);
      const PlanSearch alone = searched(question, cluster, 1);
      ASSERT_EQ(alone.best.size(), 1U) << text_of(found);
      EXPECT_EQ(text_of(alone.best.front()), text_of(found));
    }
  }
}

/// Holds the memory from shared parts against rank_memory() of each plan of the question. States
/// are computed at the smallest micro-batch without recomputation, and all else without sharding.
void expect_same_memory(const SearchQuestion& question, const Cluster& cluster, int gpus) {
  const parallel_time::ParallelQuestion& training = question.training;
  const auto setting = parallel_time::setting_of(parallel_time::parallel_times(), training,
                                                 parallel_time::parallel_hardware(cluster, gpus));
  const memory::Implementation way = parallel_time::parallel_times().implementation_of("");
  const auto setup_of = [&](const parallel::ParallelPlan& plan) {
    return parallel_time::memory_setup_of(training, setting, plan);
  };
  std::size_t tried = 0;
  for (const SlowPlan& one : all_plans(question, cluster, gpus, 2)) {
    parallel::ParallelPlan sharded = one.plan;
    sharded.micro_batch = 1;
    sharded.sequence_parallel = false;
    sharded.recompute = parallel::Recompute::none;
    sharded.recompute_layers = 0;
    parallel::ParallelPlan rest = one.plan;
    const bool is_by_operator = rest.zero == 3 && rest.recompute == parallel::Recompute::selective;
    if (!is_by_operator) rest.zero = 0;
    rest.zero_group.reset();
    const std::vector<StageRange> stages = needy_stages(training.shape, setup_of(one.plan));
    const memory::MemoryEstimate fast =
        rank_need(states_of(training.shape, setup_of(sharded), way, stages),
                  rest_of(training.shape, setup_of(rest), way, stages), way,
                  memory::library_memory(setup_of(one.plan).axes()));
    const memory::RankMemory whole = memory::rank_memory(training.shape, setup_of(one.plan), way);
    const memory::MemoryEstimate peak =
        whole.peak(whole.worst(memory::MemoryCounter::device).stage, memory::MemoryCounter::device);
    ASSERT_NEAR(fast.bytes / peak.bytes, 1, 1e-12) << parallel::to_text(one.plan);
    ASSERT_NEAR(fast.low / peak.low, 1, 1e-12) << parallel::to_text(one.plan);
    ASSERT_NEAR(fast.high / peak.high, 1, 1e-12) << parallel::to_text(one.plan);
    ++tried;
  }
  EXPECT_GT(tried, 1000U);
}

TEST(ParallelSearch, NeedsAsMuchMemoryAsPredictPlanSays) {
  expect_same_memory(question_of("gpt2", {6}, 12), load_cluster("dgx_a100"), 6);
}

TEST(ParallelSearch, NeedsAsMuchMemoryWhereSomeLayersHaveExperts) {
  SearchQuestion question = question_of("mixtral_8x7b", {6}, 6);
  question.training.shape.layers = 6;
  for (const int plain : {0, 1, 4}) {
    question.training.shape.experts->dense_layers = plain;
    expect_same_memory(question, load_cluster("dgx_a100"), 6);
  }
}

TEST(ParallelSearch, FindsTheBestOfAllFrameworks) {
  SearchQuestion question = question_of("llama2_7b", {16}, 32);
  const Cluster cluster = load_cluster("dgx_h100");
  double least = 1e18;
  std::size_t timed = 0;
  parallel_time::ParallelTimeFile alike = parallel_time::parallel_times();
  alike.constants.unseen_family = 1;  // compared, none gains by having been fitted
  for (const AskedFramework& framework : all_frameworks()) {
    question.frameworks = {framework};
    const PlanSearch alone = search_plans(alike, cluster, question, {2});
    ASSERT_FALSE(alone.best.empty()) << framework.name;
    least = std::min(least, alone.best.front().score);
    timed += alone.timed;
  }
  question.frameworks = all_frameworks();
  const PlanSearch all = searched(question, cluster);
  EXPECT_EQ(all.timed, timed);
  EXPECT_NEAR(all.best.front().score / least, 1, rounding);
  std::size_t others = 0;
  for (const PlanNeighbour& each : all.neighbours) {
    if (each.choice != Choice::framework) continue;
    ++others;
    EXPECT_NE(each.plan.framework, all.best.front().framework);
    EXPECT_TRUE(all.framework_of(each.plan).ways->runs(each.plan.answered.answer.plan));
  }
  EXPECT_EQ(others, 3U);
}

TEST(ParallelSearch, FindsThePlanOfLeastEnergy) {
  SearchQuestion question = question_of("gpt2", {4}, 8);
  question.objective = Objective::energy;
  const Cluster cluster = load_cluster("dgx_a100");
  const PlanSearch search = searched(question, cluster);
  double least = 1e18;
  for (const SlowPlan& one : all_plans(question, cluster, 4, 8)) {
    if (one.fits) least = std::min(least, one.joules);
  }
  EXPECT_NEAR(search.best.front().joules / least, 1, rounding);
  EXPECT_EQ(search.best.front().score, search.best.front().joules);
  for (std::size_t i = 1; i < search.energy_front.size(); ++i) {
    EXPECT_LT(search.energy_front[i].joules, search.energy_front[i - 1].joules * (1 + 1e-12));
  }
}

TEST(ParallelSearch, NeedsThePowerOfADataSheetForEnergy) {
  const test::TemporaryFolder folder;
  SearchQuestion question = question_of("gpt2", {4}, 8);
  Cluster cluster = load_cluster("dgx_a100");
  std::string sheet = test::read_file(config_root() / "devices" / (cluster.device.sheet + ".yaml"));
  sheet = test::replaced(sheet, "power: 400 W", "");
  sheet = test::replaced(sheet, "[power, process]", "[process]");
  cluster.device.sheet = folder.write("a100_sxm4_40gb.yaml", sheet).string();
  EXPECT_FALSE(searched(question, cluster).best.empty());
  question.objective = Objective::energy;
  EXPECT_THROW(searched(question, cluster), ConfigError);
}

TEST(ParallelSearch, KeepsToTheLimitsOfAWholeTraining) {
  SearchQuestion question = question_of("gpt2", {1, 8}, 8);
  const Cluster cluster = load_cluster("dgx_a100");
  question.whole = WholeTraining{.tokens = 1e9, .price = 2.0, .longest = {}, .dearest = {}};
  question.objective = Objective::cost;
  const PlanSearch cheap = searched(question, cluster);
  question.whole->longest = Seconds(0.7 * cheap.best.front().whole->time_s.value);
  const PlanSearch quick = searched(question, cluster);
  ASSERT_FALSE(quick.best.empty());
  EXPECT_GT(quick.exceeded, 0U);
  EXPECT_EQ(quick.unfit, std::vector{1});
  EXPECT_GT(quick.best.front().gpus, cheap.best.front().gpus);
  for (const FoundPlan& found : quick.best) {
    EXPECT_LE(found.whole->time_s.value, question.whole->longest->si());
  }
  EXPECT_GT(quick.best.front().whole->price->value, cheap.best.front().whole->price->value);
  question.whole->dearest = 0.9 * cheap.best.front().whole->price->value;
  const PlanSearch none = searched(question, cluster);
  EXPECT_TRUE(none.best.empty());
  EXPECT_EQ(none.exceeded, none.timed);
  ASSERT_TRUE(none.nearest_limit);
  EXPECT_GT(none.nearest_limit->excess, 0);
}

TEST(ParallelSearch, SaysHowFarItIs) {
  std::vector<double> shares;
  static_cast<void>(search_plans(parallel_time::parallel_times(), load_cluster("dgx_a100"),
                                 question_of("gpt2", {4, 8}, 8),
                                 {1, [&shares](double share) { shares.push_back(share); }}));
  ASSERT_GT(shares.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_NEAR(shares.back(), 1, 1e-9);
}

TEST(ParallelSearch, RefusesMorePlansThanItCanVisit) {
  const Cluster cluster = load_cluster("dgx_h100");
  SearchQuestion question = question_of("llama3_70b", {720720}, 720720);
  question.frameworks = all_frameworks();
  EXPECT_THROW(searched(question, cluster), ConfigError);
  question.choices = parse_choices("zero=1,zero_group=0,tensor=8,stages=5,context=1,micro_batch=1");
  EXPECT_FALSE(searched(question, cluster).best.empty());
}

TEST(ParallelSearch, AnswersTheSameOnAnyNumberOfThreads) {
  const SearchQuestion question = question_of("llama2_7b", {8, 16}, 16);
  const Cluster cluster = load_cluster("dgx_a100");
  const PlanSearch one = searched(question, cluster, 1);
  for (const int threads : {2, 3}) {
    const PlanSearch other = searched(question, cluster, threads);
    EXPECT_EQ(other.timed, one.timed);
    EXPECT_EQ(other.missed, one.missed);
    ASSERT_EQ(other.best.size(), one.best.size());
    for (std::size_t i = 0; i < one.best.size(); ++i) {
      EXPECT_EQ(text_of(other.best[i]), text_of(one.best[i]));
    }
    ASSERT_EQ(other.neighbours.size(), one.neighbours.size());
    for (std::size_t i = 0; i < one.neighbours.size(); ++i) {
      EXPECT_EQ(text_of(other.neighbours[i].plan), text_of(one.neighbours[i].plan));
    }
    ASSERT_EQ(other.gpu_front.size(), one.gpu_front.size());
  }
}

TEST(ParallelSearch, ReturnsOnlyPlansThatCanBeAndFit) {
  const SearchQuestion question = question_of("llama3_70b", {64}, 64, "Megatron-LM");
  const PlanSearch search = searched(question, load_cluster("dgx_h100"));
  ASSERT_GT(search.best.size(), 3U);
  std::vector<FoundPlan> plans = search.best;
  for (const PlanNeighbour& each : search.neighbours) plans.push_back(each.plan);
  plans.insert(plans.end(), search.memory_front.begin(), search.memory_front.end());
  for (const FoundPlan& found : plans) {
    const parallel_time::ParallelAnswer& answer = found.answered.answer;
    EXPECT_TRUE(
        parallel::faults(answer.plan, 64, parallel_time::facts_of(question.training)).empty());
    EXPECT_TRUE(question.frameworks.front().ways->runs(answer.plan)) << text_of(found);
    EXPECT_TRUE(answer.verdict.fits && answer.verdict.is_sure) << text_of(found);
  }
}

TEST(ParallelSearch, FrontsHoldNothingThatAnotherPlanBeats) {
  const PlanSearch search =
      searched(question_of("llama2_13b", {16}, 32, "megatron"), load_cluster("dgx_a100"));
  ASSERT_GT(search.memory_front.size(), 2U);
  for (std::size_t i = 1; i < search.memory_front.size(); ++i) {
    EXPECT_GT(search.memory_front[i].score, search.memory_front[i - 1].score);
    const auto high = [&](std::size_t at) {
      const auto& memory = search.memory_front[at].answered.answer.memory;
      return memory
          .peak(memory.worst(memory::MemoryCounter::device).stage, memory::MemoryCounter::device)
          .high;
    };
    EXPECT_LT(high(i), high(i - 1));
  }
  EXPECT_EQ(text_of(search.memory_front.front()), text_of(search.best.front()));
  const PlanSearch more = searched(question_of("llama2_7b", {8, 16}, 16), load_cluster("dgx_a100"));
  ASSERT_GT(more.gpu_front.size(), 1U);
  for (std::size_t i = 1; i < more.gpu_front.size(); ++i) {
    EXPECT_GT(more.gpu_front[i].gpus, more.gpu_front[i - 1].gpus);
    EXPECT_LT(more.gpu_front[i].answered.answer.seconds(),
              more.gpu_front[i - 1].answered.answer.seconds());
  }
}

TEST(ParallelSearch, IsNoSlowerWhereMoreFits) {
  for (const char* network : {"gpt2_large", "gpt2_xl", "gpt3_2.7b"}) {
    SearchQuestion question = question_of(network, {16}, 16);
    const Cluster cluster = load_cluster("p3_16xlarge");
    const PlanSearch sure = searched(question, cluster);
    question.fit = Fit::likely;
    const PlanSearch likely = searched(question, cluster);
    ASSERT_FALSE(sure.best.empty()) << network;
    ASSERT_FALSE(likely.best.empty()) << network;
    EXPECT_LE(likely.best.front().score, sure.best.front().score) << network;
    EXPECT_GE(likely.timed, sure.timed - sure.timed / 2) << network;
  }
}

TEST(ParallelSearch, IsNoSlowerWithMoreMemory) {
  const test::TemporaryFolder folder;
  const SearchQuestion question = question_of("gpt2_xl", {8}, 16);
  Cluster cluster = load_cluster("p3_16xlarge");
  const std::string sheet =
      test::read_file(config_root() / "devices" / (cluster.device.sheet + ".yaml"));
  double last = 1e18;
  for (const char* memory : {"12 GB", "16 GB", "24 GB", "48 GB"}) {
    cluster.device.sheet =
        folder
            .write(std::string(memory, 2) + "/v100_sxm2_16gb.yaml",
                   test::replaced(sheet, "memory: 16 GB", std::string("memory: ") + memory))
            .string();
    const PlanSearch search = searched(question, cluster);
    ASSERT_FALSE(search.best.empty()) << memory;
    EXPECT_LE(search.best.front().score, last) << memory;
    last = search.best.front().score;
  }
}

TEST(ParallelSearch, CountsGpusWhereCostIsTheObjective) {
  SearchQuestion question = question_of("gpt2", {1, 8}, 8);
  const Cluster cluster = load_cluster("dgx_a100");
  const PlanSearch quick = searched(question, cluster);
  question.objective = Objective::cost;
  const PlanSearch cheap = searched(question, cluster);
  EXPECT_GT(quick.best.front().gpus, cheap.best.front().gpus);
  const auto& answer = cheap.best.front().answered.answer;
  EXPECT_NEAR(cheap.best.front().score / (answer.seconds() * cheap.best.front().gpus), 1, rounding);
}

TEST(ParallelSearch, NamesTheNearestPlanWhereNothingFits) {
  const SearchQuestion question = question_of("gpt2_xl", {1}, 2);
  const Cluster cluster = load_cluster("dgx1_p100");
  const PlanSearch search = searched(question, cluster);
  EXPECT_TRUE(search.best.empty());
  EXPECT_EQ(search.timed, 0U);
  double least = 1e18;
  for (const SlowPlan& one : all_plans(question, cluster, 1, 2)) {
    if (one.plan.recompute != parallel::Recompute::block) least = std::min(least, one.excess);
  }
  EXPECT_GT(least, 0);
  ASSERT_TRUE(search.nearest_fit);
  EXPECT_NEAR(search.nearest_fit->excess / least, 1, rounding);
}

TEST(ParallelSearch, RefusesWhatNoPlanCanBe) {
  SearchQuestion question = question_of("gpt2", {8}, 8);
  question.choices.tensor = {8};  // of 12 heads
  EXPECT_THROW(searched(question, load_cluster("dgx_a100")), ConfigError);
  EXPECT_THROW(parse_choices("tensor"), ConfigError);
  EXPECT_THROW(parse_choices("tenser=2"), ConfigError);
  EXPECT_THROW(parse_choices("tensor=2,tensor=4"), ConfigError);
  EXPECT_THROW(parse_choices("zero=4"), ConfigError);
  const PlanChoices choices = parse_choices("tensor=4/8,recompute=none/full,schedule=1f1b");
  EXPECT_EQ(choices.tensor, (std::vector{4, 8}));
  EXPECT_EQ(choices.recompute.size(), 2U);
}

}  // namespace
}  // namespace dlscale::model::parallel_search
