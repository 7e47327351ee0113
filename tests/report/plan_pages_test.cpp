#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "core/base/error.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/plan_names.hpp"
#include "report/answers/plan_page.hpp"
#include "tests/report/look_at.hpp"

namespace dlscale::report {
namespace {

nlohmann::json found_plan(const char* plan, double seconds, double bytes) {
  return {{"plan", plan},
          {"framework", "megatron"},
          {"gpus", 32},
          {"t_iter_s", seconds},
          {"t_iter_low_s", 0.9 * seconds},
          {"t_iter_high_s", 1.1 * seconds},
          {"tokens_per_s", 1e5 / seconds},
          {"flop_utilisation", 0.4},
          {"memory_bytes", bytes},
          {"memory_high_bytes", 1.2 * bytes},
          {"memory_free_bytes", 42949672960 - 1.2 * bytes},
          {"of_best", seconds}};
}

/// Three plans by time and memory, of which two have the same degrees.
nlohmann::json plan_search() {
  const nlohmann::json best = found_plan("data=8,tensor=4,micro_batch=2,zero=1", 1, 3e10);
  nlohmann::json other = found_plan("data=8,tensor=4,micro_batch=1,zero=1", 1.1, 3.1e10);
  other["change"] = "micro-batch 1 instead of 2";
  return {{"schema", "dlscale.parallel_plan"},
          {"network", "gpt"},
          {"cluster", "dgx"},
          {"objective", "time"},
          {"global_batch", 64},
          {"timed", 3},
          {"not_fitting", 0},
          {"splits", 3},
          {"close_splits", 0},
          {"close_share", 0.05},
          {"best", {best}},
          {"neighbours", {other}},
          {"memory_front",
           {best, found_plan("data=8,tensor=4,micro_batch=2,zero=1,recompute=full", 2, 1e10)}},
          {"gpu_front", nlohmann::json::array()},
          {"energy_front", nlohmann::json::array()}};
}

/// Expects each key of the object that is missing to be named, or not to be needed.
void expect_read_or_refused(AnswerPage (*page)(const std::string&, const std::string&),
                            const nlohmann::json& answer, const std::string& object) {
  const nlohmann::json::json_pointer place(object);
  const nlohmann::json whole = answer.at(place);
  for (const auto& [key, value] : whole.items()) {
    nlohmann::json older = answer;
    older.at(place).erase(key);
    try {
      static_cast<void>(page(older.dump(), "plan.json"));
    } catch (const ConfigError& error) {
      const std::string sentence = error.what();
      EXPECT_TRUE(contains(sentence, "it lacks \"" + key + "\"; another version of dlscale"))
          << sentence;
    }
  }
}

TEST(ParallelPlanPage, OfAnEarlierVersionIsReadOrRefused) {
  for (const char* object : {"", "/best/0", "/neighbours/0", "/memory_front/1"}) {
    expect_read_or_refused(parallel_plan_page, plan_search(), object);
  }
}

TEST(ParallelPlanPage, NamesTheWholePlanAndEveryPoint) {
  const AnswerPage made = parallel_plan_page(plan_search().dump(), "plan.json");
  expect_first_screen(made.page);
  EXPECT_EQ(made.page.verdict.find(
                "Fastest on 32 GPUs with megatron: tensor 4, data 8; an iteration takes 1.000 s "),
            0U)
      << made.page.verdict;
  EXPECT_EQ(made.page.tiles.at(1).detail, "90,900 to 111,000 (90 %)") << "tokens a second";
  EXPECT_EQ(made.page.tiles.at(3).detail, "at most 36.0 GB (90 %) of 42.9 GB (40 GiB)");
  const Table& points = made.page.figures.front().data;
  ASSERT_EQ(points.rows.size(), 3U);
  EXPECT_EQ(cell(points, 0, "choice"), "micro-batch 2");
  EXPECT_EQ(cell(points, 0, "place"), "best");
  EXPECT_EQ(cell(points, 1, "choice"), "micro-batch 2, full");
  EXPECT_EQ(cell(points, 2, "choice"), "micro-batch 1");
  EXPECT_EQ(made.page.sections.at(1).id, "neighbours");
}

TEST(ParallelPlanPage, SaysInItsVerdictWhichPlanIsClose) {
  const auto verdict_of = [](const nlohmann::json& answer) {
    return parallel_plan_page(answer.dump(), "plan.json").page.verdict;
  };
  nlohmann::json answer = plan_search();
  answer["splits"] = 47;
  EXPECT_TRUE(
      contains(verdict_of(answer), " No other split of the GPUs is within 5 % of its time."));
  answer["close_splits"] = 17;
  EXPECT_EQ(leanest_close(answer), nullptr);
  EXPECT_TRUE(verdict_of(answer).ends_with("(90 % interval 900.0 ms to 1.100 s)."));
  answer["memory_front"].push_back(
      found_plan("data=2,tensor=4,stages=4,chunks=5,schedule=interleaved,zero=1", 1.06, 1e10));
  EXPECT_EQ(leanest_close(answer), nullptr) << "6 % slower, though within the interval of the best";
  answer["memory_front"].push_back(found_plan(
      "data=2,tensor=4,stages=4,chunks=5,schedule=interleaved,zero=1,recompute=selective", 1.04,
      2e10));
  const AnswerPage made = parallel_plan_page(answer.dump(), "plan.json");
  EXPECT_TRUE(made.page.verdict.ends_with(
      " Within 5 % of its time, with 20.0 GB of memory in place of 30.0 GB: stages 4 × 5 chunks, "
      "selective recomputation (1.040 s)."))
      << made.page.verdict;
  EXPECT_EQ(made.page.tiles.at(4).value, "17 of 46");
  EXPECT_TRUE(contains(made.page.figures.front().svg, "stages 4 × 5</text>"));
  EXPECT_TRUE(contains(made.page.figures.front().title, "stages S × C: C chunks each"));
}

TEST(ParallelPlanPage, DrawsNeighboursThatTheStatedFrontLeavesOutAsPartOfIt) {
  nlohmann::json answer = plan_search();
  answer["neighbours"][0]["memory_bytes"] = 2e10;
  const Table points = parallel_plan_page(answer.dump(), "plan.json").page.figures.front().data;
  EXPECT_EQ(cell(points, 2, "choice"), "micro-batch 1");
  EXPECT_EQ(cell(points, 2, "place"), "front") << "none is quicker and smaller";
}

TEST(ParallelPlanPage, SaysWhatAWholeTrainingTakes) {
  nlohmann::json answer = plan_search();
  nlohmann::json training = found_plan("data=8,tensor=4,micro_batch=2,zero=1", 1, 3e10);
  training.update({{"with_failures_s", 864000},
                   {"with_failures_low_s", 777600},
                   {"with_failures_high_s", 950400},
                   {"price", 2500}});
  nlohmann::json other = training;
  other["gpus"] = 64;
  answer["trainings"] = {other, training};
  const auto verdict_of = [](const nlohmann::json& one) {
    return parallel_plan_page(one.dump(), "plan.json").page.verdict;
  };
  EXPECT_TRUE(contains(verdict_of(answer),
                       ": tensor 4, data 8; the whole training takes 10.0 days (90 % interval 9.00 "
                       "to 11.0 days), at a cost of 2,500."))
      << verdict_of(answer);
  answer["trainings"] = nlohmann::json::array({other});
  EXPECT_TRUE(contains(verdict_of(answer), "; an iteration takes ")) << "of the best alone";
}

TEST(PlanNames, SayLesserSettingsOnlyWherePlansDifferInNoOther) {
  const auto plan = [](const char* text) { return Json{{"plan", text}}; };
  const Json one = plan(
      "data=8,tensor=2,sequence_parallel=true,stages=2,chunks=10,schedule=interleaved,"
      "micro_batch=1,zero=1,recompute=selective");
  const Json other = plan("data=8,tensor=2,stages=2,chunks=10,micro_batch=2,zero=3");
  EXPECT_EQ(PlanNames(Json::array({one}))(one),
            "tensor 2, stages 2 × 10 chunks, data 8, selective recomputation");
  EXPECT_EQ(PlanNames(Json::array({one, other}))(other),
            "tensor 2, stages 2 × 10 chunks, data 8, ZeRO 3");
  EXPECT_EQ(PlanNames(Json::array({one})).without_data(one),
            "tensor 2, stages 2 × 10 chunks, selective recomputation");
  const Json small = plan("data=8,tensor=2,micro_batch=1,zero=1");
  const Json large = plan("data=8,tensor=2,micro_batch=2,zero=1");
  EXPECT_EQ(PlanNames(Json::array({small, large}))(large), "tensor 2, data 8, micro-batch 2");
  EXPECT_EQ(PlanNames(Json::array({plan("")}))(plan("")), "data 1");
  const Json split = plan("data=1,tensor=8");
  EXPECT_EQ(PlanNames(Json::array({split}))(split), "tensor 8");
}

/// A choice of a network without plans; 0 bytes: no buckets.
nlohmann::json found_choice(int ranks, double bucket, double seconds) {
  return {{"ranks", ranks},
          {"batch", 32},
          {"schedule", "bucketed"},
          {"bucket_bytes", bucket > 0 ? nlohmann::json(bucket) : nlohmann::json()},
          {"synchronisation", "all_reduce"},
          {"servers", nullptr},
          {"sharding", nullptr},
          {"transport", nullptr},
          {"callers", nullptr},
          {"t_iter_s", 0.1},
          {"t_iter_low_s", 0.09},
          {"t_iter_high_s", 0.11},
          {"time_to_train_s", seconds},
          {"images_per_s", 1000},
          {"rank_hours", ranks * seconds / 3600},
          {"epochs", 90},
          {"efficiency", 0.9},
          {"cost", nullptr},
          {"limits_kept", nullptr},
          {"notes", nlohmann::json::array()}};
}

/// The best of three choices, which --max-ranks bounds.
nlohmann::json bounded_plan() {
  nlohmann::json other = found_choice(4, 4194304, 8000);
  other["change"] = "bucketed at 4.00 MiB instead of bucketed at 2.00 MiB";
  other["within_limits"] = false;
  return {{"schema", "dlscale.plan"},
          {"network", "alexnet"},
          {"cluster", "p40x16"},
          {"best", {found_choice(4, 2097152, 7200)}},
          {"front", {found_choice(1, 0, 20000)}},
          {"neighbours", {other}},
          {"question", {{"objective", "time"}, {"most_ranks", 4}, {"cluster_ranks", 16}}},
          {"options", {{"max-ranks", {"4"}}}},
          {"ranks_bound_by", "asked"},
          {"batch_bound_by", "memory"},
          {"beyond_limits", nullptr},
          {"within_limits", 3},
          {"configurations", 3},
          {"by_simulation", 0},
          {"left_out_for_memory", nlohmann::json::array()},
          {"left_out_for_servers", nlohmann::json::array()},
          {"simulated_because", nlohmann::json::array()}};
}

TEST(PlanPage, OfAnEarlierVersionIsReadOrRefused) {
  for (const char* object : {"", "/best/0", "/front/0", "/neighbours/0", "/question"}) {
    expect_read_or_refused(plan_page, bounded_plan(), object);
  }
}

TEST(PlanPage, NamesSettingsInTheVerdictTheTableAndThePoints) {
  const Page page = plan_page(bounded_plan().dump(), "plan.json").page;
  expect_first_screen(page);
  EXPECT_EQ(page.verdict,
            "Fastest on 4 ranks with 32 samples each, schedule bucketed, buckets of 2.00 MiB: 90 "
            "epochs take 2.00 h (90 % interval 1.80 to 2.20 h). --max-ranks stops at 4 of the "
            "cluster's 16 ranks.");
  EXPECT_EQ(page.tiles[1].value, "8.00 h") << "rank hours";
  EXPECT_EQ(page.tiles[2].detail, "909 to 1,110 (90 %); 90.0 % of 4 × one rank");
  EXPECT_EQ(page.tiles[3].detail, "the memory holds no larger one of those tried");
  const Table& points = page.figures.front().data;
  EXPECT_EQ(cell(points, 0, "choice"), "1 rank, batch 32, bucketed");
  EXPECT_EQ(cell(points, 1, "choice"), "4 ranks, batch 32, bucketed, buckets of 2.00 MiB");
  EXPECT_EQ(cell(points, 1, "place"), "best");
  EXPECT_EQ(points.rows.size(), 2U) << "a choice beyond the limits might beat the front";
  EXPECT_EQ(cell(std::get<Table>(page.sections.at(0).blocks.front()), 0, "settings"),
            "buckets of 2.00 MiB");
  const Table& changes = std::get<Table>(page.sections.at(1).blocks.front());
  EXPECT_EQ(cell(changes, 0, "against the best"), "+11.1 %");
  EXPECT_EQ(cell(changes, 0, "limits"), "missed");
}

TEST(PlanPage, NamesItsCostAndTheLimitThatABetterOneExceeds) {
  nlohmann::json best = found_choice(4, 0, 7200);
  best["cost"] = 16;
  best["limits_kept"] = "as predicted";
  nlohmann::json beyond = found_choice(1, 0, 20000);
  beyond["cost"] = 11.1;
  nlohmann::json answer{
      {"schema", "dlscale.plan"},
      {"network", "alexnet"},
      {"cluster", "p40x16"},
      {"best", {best}},
      {"front", {best}},
      {"neighbours", nlohmann::json::array()},
      {"question",
       {{"objective", "cost"}, {"time_limit_s", 8000}, {"most_ranks", 16}, {"cluster_ranks", 16}}},
      {"ranks_bound_by", "limits"},
      {"batch_bound_by", "objective"},
      {"beyond_limits", beyond},
      {"within_limits", 3},
      {"configurations", 3}};
  const Page page = plan_opening(answer);
  EXPECT_EQ(page.verdict,
            "Cheapest on 4 ranks with 32 samples each, schedule bucketed: 90 epochs take 2.00 h "
            "(90 % interval 1.80 to 2.20 h), at a cost of 16.0 (14.4 to 17.6). 1 rank would cost "
            "less, but exceed the time limit.");
  ASSERT_EQ(page.tiles.size(), 5U);
  EXPECT_EQ(page.tiles[1].name + " " + page.tiles[1].value, "Cost 16.0");
  EXPECT_EQ(page.tiles[4].detail, "time ≤ 2.22 h; not at the slow end of the interval");
  answer["best"][0]["cost"] = nullptr;
  EXPECT_TRUE(contains(plan_opening(answer).verdict, ", in 8.00 rank hours (7.20 to 8.80). "));
}

}  // namespace
}  // namespace dlscale::report
