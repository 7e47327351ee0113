#include <gtest/gtest.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/answers/prediction_page.hpp"
#include "report/answers/training_page.hpp"
#include "report/prediction/prediction_table.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

std::string predictions() {
  return prediction_document(samples::curve("alexnet")).json();
}

TEST(PredictionPage, AnswersWithTheFastestIterationAndItsInterval) {
  const AnswerPage made = prediction_page(predictions(), "answer.json");
  expect_first_screen(made.page);
  expect_well_made(made.document);
  EXPECT_EQ(made.page.question.find("How fast does alexnet train on "), 0U);
  EXPECT_TRUE(contains(made.page.verdict, " on 64 ranks: an iteration takes "));
  EXPECT_TRUE(contains(made.page.verdict, " (90 % interval "));
  EXPECT_EQ(made.page.picture, "speedup");
  EXPECT_EQ(suggested_run(Json::parse(predictions())).ranks, 64);
  EXPECT_THROW(static_cast<void>(prediction_page("{}", "answer.json")), ConfigError);
}

/// Images a second on so many ranks, within a tenth.
struct OnRanks {
  int ranks;
  double rate;
  double share = 0.1;
};

std::string verdict_of(std::initializer_list<OnRanks> all) {
  Json answer{{"rows", Json::array()}};
  for (const OnRanks& one : all) {
    const double time = 32 * one.ranks / one.rate;
    answer["rows"].push_back({{"run",
                               {{"network", "vgg16"},
                                {"cluster", "mine"},
                                {"ranks", one.ranks},
                                {"batch", 32},
                                {"schedule", "bucketed"}}},
                              {"time", {{"t_iter_s", time}, {"t_comm_exposed_s", 0.5 * time}}},
                              {"t_iter_low_s", time / (1 + one.share)},
                              {"t_iter_high_s", time / (1 - one.share)},
                              {"images_per_s", one.rate},
                              {"speedup", 1},
                              {"efficiency", 1},
                              {"bound", "communication"}});
  }
  return prediction_opening(answer).verdict;
}

TEST(PredictionPage, SaysThatMoreRanksSlowATrainingDown) {
  EXPECT_EQ(verdict_of({{1, 200}, {4, 800}, {8, 456}, {16, 500}}),
            "Fastest on 4 ranks: 800 images/s, an iteration takes 160.0 ms (90 % interval 145.5 ms "
            "to 177.8 ms), bound by communication. More ranks slow it down: 8 reach 456 images/s "
            "(90 % interval 410 to 502).");
  EXPECT_TRUE(verdict_of({{4, 800}, {8, 456}, {16, 790}})
                  .ends_with(" 8 ranks slow it down, to 456 images/s (90 % interval 410 to 502)."));
  EXPECT_TRUE(
      verdict_of({{4, 800}, {8, 400}, {16, 900}})
          .ends_with(" From 4 to 8 ranks it slows down: from 800 images/s (90 % interval 720 to "
                     "880) to 400 images/s (90 % interval 360 to 440)."));
}

TEST(PredictionPage, SaysThatOneRankIsFaster) {
  Json answer = Json::parse(predictions());
  Json& row = answer["predictions"].back();
  row["images_per_s"] = 59.0;
  row["speedup"] = 0.25;
  row["speedup_high"] = 0.5;
  answer["predictions"] = Json::array({row});
  EXPECT_TRUE(contains(prediction_opening(answer).verdict,
                       "59.0 images/s on 64 ranks, slower than one rank (236 images/s): an "))
      << prediction_opening(answer).verdict;
  answer["predictions"][0]["speedup_high"] = 1.5;
  EXPECT_FALSE(contains(prediction_opening(answer).verdict, "slower than one rank"));
}

TEST(PredictionPage, NamesTheChoicesInWhichRowsDiffer) {
  Json row{{"run",
            {{"network", "vgg16"},
             {"cluster", "mine"},
             {"ranks", 8},
             {"batch", 32},
             {"schedule", "wait_free"},
             {"servers", nullptr}}},
           {"time", {{"t_iter_s", 0.1}, {"t_comm_exposed_s", 0}}},
           {"images_per_s", 2560},
           {"speedup", 1},
           {"efficiency", 1},
           {"bound", "compute"},
           {"inter_node", {{"bandwidth_bytes_per_s", 1.25e9}, {"latency_s", 1e-5}}}};
  Json answer{{"rows", {row}}};
  row["run"]["batch"] = 64;
  row["images_per_s"] = 5120;
  row["inter_node"]["bandwidth_bytes_per_s"] = 12.5e9;
  answer["rows"].push_back(row);
  EXPECT_EQ(prediction_opening(answer).verdict,
            "5,120 images/s on 8 ranks with 64 images each, 12.5 GB/s between nodes: an iteration "
            "takes 100.0 ms, bound by compute.");
}

TEST(PredictionPage, CallsNothingSlowerWithinTheIntervals) {
  EXPECT_TRUE(verdict_of({{4, 800, 0.4}, {8, 600, 0.4}})
                  .starts_with("Fastest on 4 or 8 ranks, which their intervals do not tell apart: "
                               "4 ranks reach 800 images/s, an iteration takes 160.0 ms "));
  EXPECT_TRUE(verdict_of({{1, 200}, {4, 800}, {8, 790}, {16, 780}})
                  .starts_with("Fastest on 4 to 16 ranks, which "));
  EXPECT_TRUE(verdict_of({{4, 800}, {8, 790}, {16, 850}}).ends_with("bound by communication."));
  EXPECT_TRUE(verdict_of({{4, 800}, {8, 1600}}).starts_with("1,600 images/s on 8 ranks: "));
}

TEST(PredictionPage, SaysWhichBatchFitsWhereMemoryIsShort) {
  model::Prediction row = samples::curve("alexnet").back();
  row.notes = {{model::NoteKind::memory_short, {512, "60.5 GB", "25.6 GB", 208}}};
  const Json answer = Json::parse(prediction_document(std::span(&row, 1)).json());
  EXPECT_TRUE(contains(prediction_opening(answer).verdict,
                       " Batch 512 needs about 60.5 GB of the 25.6 GB of each rank, without "
                       "workspace: the largest batch that fits is about 208."));
  EXPECT_EQ(suggested_run(answer).largest_batch, 208);
  EXPECT_FALSE(suggested_run(Json::parse(predictions())).largest_batch);
}

TEST(PredictionPage, OfOneIterationShowsItsParts) {
  nlohmann::json answer = nlohmann::json::parse(predictions());
  answer["predictions"].erase(answer["predictions"].begin() + 1, answer["predictions"].end());
  EXPECT_EQ(prediction_page(answer.dump(), "answer.json").page.picture, "iteration");
}

TEST(PredictionPage, RatesItsDataByTheLeastCertainSourceAndTheWidestInterval) {
  nlohmann::json answer = nlohmann::json::parse(predictions());
  const auto badge = [&answer](const char* source) {
    for (nlohmann::json& row : answer["predictions"]) row["basis"] = {{"forward", source}};
    return prediction_page(answer.dump(), "answer.json").page.data->word;
  };
  EXPECT_EQ(badge("measured"), "Good");
  EXPECT_EQ(badge("data sheet"), "Usable");
  answer["predictions"][0]["t_iter_high_s"] = 1e3;
  EXPECT_EQ(badge("data sheet"), "Doubtful");
}

TEST(PredictionPage, SaysWhyAnIntervalLeavesDoubt) {
  EXPECT_EQ(interval_doubt({1, {}, 1.2}, "the time"), "the interval of the time is unknown");
  EXPECT_EQ(interval_doubt({1, 0.9, {}}, "the time"), "the interval of the time is unknown");
  EXPECT_EQ(interval_doubt({1, 0.55, 1.45}, "the time"), "");
  const char* const wide = "an end of the interval of the time is more than half of it away";
  EXPECT_EQ(interval_doubt({1, 0.9, 1.51}, "the time"), wide);
  EXPECT_EQ(interval_doubt({1, 0.49, 1.1}, "the time"), wide);
  nlohmann::json answer = nlohmann::json::parse(predictions());
  for (nlohmann::json& row : answer["predictions"]) row["basis"] = {{"forward", "data sheet"}};
  answer["predictions"][0]["t_iter_high_s"] = nullptr;
  const Page page = prediction_page(answer.dump(), "answer.json").page;
  EXPECT_TRUE(contains(page.data->reasons, ", and the interval of an iteration is unknown."))
      << page.data->reasons;
}

/// A training of 10 MB an image, of which a third may be saved and twice as much be needed.
nlohmann::json memory_of_batch(int batch) {
  const double need = 1e7 * batch;
  const char* fits = 2 * need <= 1e9 ? "yes" : need <= 1e9 ? "likely" : "no";
  return {{"network", "alexnet"},
          {"cluster", "p40x16"},
          {"batch", batch},
          {"states_bytes", 0.1 * need},
          {"activations_bytes", 0.9 * need},
          {"total_bytes", need},
          {"least_bytes", need / 3},
          {"most_bytes", 2 * need},
          {"memory_bytes", 1e9},
          {"fits", fits}};
}

/// Tables in the terminal add what backward keeps to activations, as tiles do.
TEST(MemoryPage, NamesKindsAsTablesDo) {
  nlohmann::json answer{{"schema", "dlscale.parallel_memory"}};
  answer["plans"].push_back({{"network", "gpt"},
                             {"cluster", "dgx"},
                             {"plan", "zero=1"},
                             {"memory_bytes", 1e10},
                             {"device_memory_bytes", 4e10},
                             {"fits", "yes"},
                             {"stages",
                              {{{"stage", 1},
                                {"moment", "loss"},
                                {"weights_bytes", 1e9},
                                {"main_weights_bytes", 1.5e9},
                                {"moments_bytes", 2.5e9},
                                {"activations_bytes", 4.5e9},
                                {"backward_bytes", 0.5e9},
                                {"total_bytes", 1e10}}}}});
  const std::vector<Tile> tiles = memory_page(answer.dump(), "memory.json").page.tiles;
  ASSERT_EQ(tiles.size(), 5U);
  EXPECT_EQ(tiles[1].detail, "75 % of 40.0 GB (37.3 GiB) stay free");
  EXPECT_EQ(tiles[2].name + " " + tiles[2].value, "For activations 5.00 GB");
  EXPECT_EQ(tiles[3].name + " " + tiles[3].value, "For optimiser 4.00 GB");
  EXPECT_EQ(tiles[4].name + " " + tiles[4].value, "For weights 1.00 GB");
}

TEST(MemoryPage, SaysThatNoBatchFits) {
  nlohmann::json training = memory_of_batch(32);
  training["parameters_bytes"] = 4e9;
  training["states_bytes"] = 8e9;
  training["least_states_bytes"] = 5e9;
  const nlohmann::json answer{{"schema", "dlscale.memory"}, {"trainings", {training}}};
  EXPECT_EQ(memory_page(answer.dump(), "memory.json").page.verdict,
            "No, with any batch: parameters and states alone take 12.0 GB (at the very least 9.00 "
            "GB), and a rank can allocate 1.00 GB. Ranks have to share the network by a parallel "
            "plan.");
}

Page memory_of_batches(std::initializer_list<int> batches) {
  nlohmann::json answer{{"schema", "dlscale.memory"}};
  for (const int batch : batches) answer["trainings"].push_back(memory_of_batch(batch));
  const AnswerPage made = memory_page(answer.dump(), "memory.json");
  expect_well_made(made.document);
  return made.page;
}

TEST(MemoryPage, NamesTheLargestBatchThatFits) {
  const Page page = memory_of_batches({32, 96, 128});
  expect_first_screen(page);
  EXPECT_EQ(page.verdict,
            "2 of 3 batches fit; the largest of these is 96: 0.960 GB (least to most 0.320 GB to "
            "1.92 GB) of 1.00 GB.");
  EXPECT_EQ(memory_of_batches({128, 256}).verdict,
            "None of 2 batches fits; 128 needs least: 1.28 GB (least to most 0.427 GB to "
            "2.56 GB) of 1.00 GB.");
}

TEST(MemoryPage, CallsTheRangeOfANetworkLeastToMost) {
  const Page page = memory_of_batches({32});
  EXPECT_EQ(page.verdict,
            "Yes: with batch 32, a rank needs 0.320 GB (least to most 0.107 GB to 0.640 GB) of "
            "1.00 GB.");
  EXPECT_FALSE(contains(html(page), "90 %"));
}

/// A plan of two stages, of which the second is the fullest, and a change that helps.
nlohmann::json memory_of_plan(const char* plan, double need, const char* fits) {
  const auto stage = [](int number, double bytes) {
    return nlohmann::json{{"stage", number},
                          {"moment", "loss"},
                          {"weights_bytes", 0.25 * bytes},
                          {"activations_bytes", 0.75 * bytes},
                          {"total_bytes", bytes}};
  };
  return {{"network", "gpt"},
          {"cluster", "dgx"},
          {"plan", plan},
          {"memory_bytes", need},
          {"memory_low_bytes", 0.9 * need},
          {"memory_high_bytes", 1.2 * need},
          {"device_memory_bytes", 1e9},
          {"fits", fits},
          {"would_fit", {{{"change", "micro_batch=1"}, {"t_iter_s", 2}, {"surely", true}}}},
          {"stages", {stage(1, 0.5 * need), stage(2, need)}}};
}

TEST(MemoryPage, NamesThePlanItsFullestStageAndAChangeThatFits) {
  nlohmann::json answer{{"schema", "dlscale.parallel_memory"}};
  answer["plans"].push_back(memory_of_plan("stages=2", 1.1e9, "unsure"));
  const Page one = memory_page(answer.dump(), "memory.json").page;
  expect_first_screen(one);
  EXPECT_EQ(one.verdict,
            "Perhaps: with stages 2, a rank of stage 2 needs 1.10 GB (90 % interval 0.990 GB to "
            "1.32 GB) of 1.00 GB. With micro_batch=1 it surely fits.");
  EXPECT_EQ(one.sections.back().id, "remedies");
  answer["plans"].push_back(memory_of_plan("stages=2,zero=1", 0.5e9, "yes"));
  answer["plans"][1]["fits"] = "unsure";
  EXPECT_TRUE(memory_page(answer.dump(), "memory.json")
                  .page.verdict.starts_with("None of 2 plans surely fits; "));
  answer["plans"][1]["fits"] = "yes";
  const Page two = memory_page(answer.dump(), "memory.json").page;
  EXPECT_EQ(two.verdict,
            "1 of 2 plans fits; least memory needs stages 2, ZeRO 1: 0.500 GB (90 % interval 0.450 "
            "GB to 0.600 GB) of 1.00 GB.");
}

/// A training to a target, whose predictions are of data sheets.
Json whole_training(int ranks, double seconds, bool is_covered) {
  return {{"prediction",
           {{"run", {{"network", "resnet50"}, {"cluster", "mine"}, {"ranks", ranks}}},
            {"time", {{"t_iter_s", 0.1}}},
            {"t_iter_low_s", 0.09},
            {"t_iter_high_s", 0.11},
            {"images_per_s", 2e6 / seconds},
            {"basis", {{"forward", "data sheet"}}},
            {"notes", Json::array()}}},
          {"epochs", 34.7},
          {"epochs_covered", is_covered},
          {"training_s", seconds},
          {"training_low_s", 0.9 * seconds},
          {"training_high_s", 1.1 * seconds}};
}

TEST(TrainingPage, NamesTheQuickestTrainingAndItsInterval) {
  Json answer{{"schema", "dlscale.training_time"},
              {"target", "imagenet-75.9"},
              {"tokens", nullptr},
              {"trainings", {whole_training(8, 14400, true), whole_training(16, 7200, false)}}};
  const Page page = training_page(answer.dump(), "training.json").page;
  expect_first_screen(page);
  EXPECT_EQ(page.verdict,
            "Quickest of 2 trainings: 34.7 epochs to imagenet-75.9 take 2.000 hours on 16 ranks "
            "(90 % interval 1.800 hours to 2.200 hours). Its epochs are extrapolated to this "
            "batch.");
  EXPECT_EQ(page.tone, Tone::caution);
  answer["trainings"][0]["cost"] = {{"with_failures_s", 3600}, {"without_failures_s", 3500},
                                    {"goodput", 0.97},         {"failures", 0.1},
                                    {"device_hours", 8},       {"device_hours_low", 7},
                                    {"device_hours_high", 9},  {"price", 20},
                                    {"price_low", 18},         {"price_high", 22}};
  EXPECT_EQ(
      training_opening(answer).verdict,
      "Quickest of 2 trainings: 34.7 epochs to imagenet-75.9 take 1.000 hours on 8 ranks with "
      "failures and checkpoints, 97.0 % of it useful. It costs 20 (90 % interval 18 to 22).");
  EXPECT_EQ(training_opening(answer).tiles.at(1).detail, "fitted to published trainings");
}

}  // namespace
}  // namespace dlscale::report
