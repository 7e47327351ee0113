// The order of schedules, measured against predicted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/validation/validate.hpp"
#include "report/validation/validation_table.hpp"
#include "tests/report/expect_well_made.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

using samples::e2e;
using samples::PhaseTimes;
using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

TEST(MeanRanks, CountFromTheSmallestAndShareWhatIsEqual) {
  EXPECT_EQ(mean_ranks(std::vector{3.0, 1.0, 2.0}), (std::vector{3.0, 1.0, 2.0}));
  EXPECT_EQ(mean_ranks(std::vector{5.0, 7.0, 5.0, 1.0}), (std::vector{2.5, 4.0, 2.5, 1.0}));
  EXPECT_EQ(mean_ranks(std::vector{1.0, 1.0, 1.0}), (std::vector{2.0, 2.0, 2.0}));
  EXPECT_EQ(mean_ranks(std::vector{1.0, 1.005, 1.02}, 0.01), (std::vector{1.5, 1.5, 3.0}));
  EXPECT_TRUE(mean_ranks({}).empty());
}

TEST(RankCorrelation, IsSpearmans) {
  const auto of = [](const std::vector<double>& a, const std::vector<double>& b) {
    return rank_correlation(mean_ranks(a), mean_ranks(b));
  };
  EXPECT_DOUBLE_EQ(of({1, 2, 3, 4}, {10, 20, 30, 40}).value(), 1);
  EXPECT_DOUBLE_EQ(of({1, 2, 3, 4}, {9, 8, 7, 1}).value(), -1);
  // Without ties 1 - 6 Σ d² / (n (n² - 1)), here with d = 0, 1, -1, 0.
  EXPECT_NEAR(of({1, 2, 3, 4}, {1, 3, 2, 4}).value(), 1 - 6.0 * 2 / (4 * 15), 1e-12);
  // Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: products of deviations 4.5, squares 4.5 and 5.
  EXPECT_NEAR(of({1, 5, 5, 9}, {1, 2, 3, 4}).value(), 4.5 / std::sqrt(4.5 * 5), 1e-12);
  EXPECT_FALSE(of({1, 2, 3}, {7, 7, 7}).has_value());
  EXPECT_FALSE(of({1}, {1}).has_value());
}

/// Measured to ± 10 ms.
ScheduleTime schedule(double measured, double predicted) {
  return {Seconds(measured), Seconds(measured - 0.01), Seconds(measured + 0.01),
          Seconds(predicted)};
}

TEST(OrderOf, CountsPairsThatAreApartAndThosePredictedSo) {
  // The last two overlap. Of the pairs with the first, one is predicted the other way around.
  const ScheduleOrder order =
      order_of(std::vector{schedule(1.0, 2.0), schedule(1.2, 1.5), schedule(1.21, 3.0)});
  EXPECT_EQ(order.pairs_apart, 2);
  EXPECT_EQ(order.pairs_right, 1);
  EXPECT_EQ(order.measured_ranks, (std::vector{1.0, 2.0, 3.0}));
  EXPECT_EQ(order.predicted_ranks, (std::vector{2.0, 1.0, 3.0}));
  EXPECT_DOUBLE_EQ(order.correlation.value(), 0.5);
  EXPECT_EQ(order.fastest_measured, 0U);
  EXPECT_EQ(order.fastest_predicted, 1U);
  EXPECT_NEAR(order.loss, 0.2, 1e-12);
}

TEST(OrderOf, TakesPredictionsThatDifferByRoundingForEqual) {
  const ScheduleOrder order =
      order_of(std::vector{schedule(2.0, 1.0), schedule(1.0, 1.0 + 1e-14), schedule(3.0, 4.0)});
  EXPECT_EQ(order.predicted_ranks, (std::vector{1.5, 1.5, 3.0}));
  EXPECT_EQ(order.pairs_apart, 3);
  EXPECT_EQ(order.pairs_right, 2);  // the first two are not told apart
  EXPECT_EQ(order.fastest_predicted, 0U);
  EXPECT_NEAR(order.loss, 1, 1e-12);
}

TEST(OrderOf, LosesNothingWhereTheFastestIsPredicted) {
  const ScheduleOrder order = order_of(std::vector{schedule(2.0, 9.0), schedule(1.0, 3.0)});
  EXPECT_EQ(order.loss, 0);
  EXPECT_EQ(order.correlation.value(), 1);
}

/// Predicts what a run leaves exposed of its messages by its schedule, 0.1 s if that is none of
/// these.
Predictor exposing(std::map<Schedule, double> seconds) {
  return [seconds = std::move(seconds)](const TrainingRun& run) {
    PhaseTimes times;
    const auto found = seconds.find(run.schedule);
    if (found != seconds.end()) times.exposed = found->second;
    return samples::prediction(run, times);
  };
}

Measurement measured(Schedule schedule, double exposed, int ranks = 2) {
  PhaseTimes times;
  times.exposed = exposed;
  return e2e({"alexnet", ranks, schedule, 0}, times);
}

Validation validate_with(const Predictor& predictor, std::vector<Measurement> measurements) {
  return validate(predictor, std::vector{samples::file("e2e", std::move(measurements))});
}

const std::map<Schedule, double> good_guess{
    {Schedule::sequential, 0.5}, {Schedule::wait_free, 0.2}, {Schedule::bucketed, 0.1}};

std::vector<Measurement> three_schedules() {
  return {measured(Schedule::sequential, 0.6), measured(Schedule::wait_free, 0.3),
          measured(Schedule::bucketed, 0.2)};
}

TEST(ValidateOrder, HoldsSchedulesOfATrainingAgainstEachOther) {
  const Validation validation = validate_with(exposing(good_guess), three_schedules());
  ASSERT_EQ(validation.orders.size(), 1U);
  const ScheduleOrder& order = validation.orders.front();
  EXPECT_EQ(order.runs, (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_DOUBLE_EQ(order.correlation.value(), 1);
  EXPECT_EQ(order.pairs_apart, 3);
  EXPECT_EQ(order.pairs_right, 3);
  EXPECT_EQ(validation.runs.at(order.runs.at(order.fastest_predicted)).run.schedule,
            Schedule::bucketed);
  EXPECT_EQ(order.loss, 0);
}

TEST(ValidateOrder, KeepsApartWhatDiffersInMoreThanTheSchedule) {
  std::vector<Measurement> rows = three_schedules();
  rows[0].axes["network"] = "vgg16";
  rows[1].axes["batch"] = "16";
  EXPECT_TRUE(validate_with(exposing(good_guess), rows).orders.empty());
  rows = three_schedules();
  rows[2].axes["waiting"] = "spin";
  const Validation two = validate_with(exposing(good_guess), rows);
  ASSERT_EQ(two.orders.size(), 1U);
  EXPECT_EQ(two.orders.front().runs.size(), 2U);
}

TEST(ValidateOrder, LeavesOutOneRankWhereNothingTravels) {
  const Validation validation =
      validate_with(exposing(good_guess),
                    {measured(Schedule::sequential, 0, 1), measured(Schedule::wait_free, 0, 1)});
  EXPECT_TRUE(validation.orders.empty());
}

TEST(ValidateOrder, HasAPlaceForAParameterServerOfItsOwn) {
  std::vector<Measurement> rows = three_schedules();
  rows.push_back(measured(Schedule::wait_free, 0.9));
  rows.back().axes["synchronisation"] = "parameter_server";
  rows.back().axes["servers"] = "2";
  const Validation validation = validate_with(exposing(good_guess), rows);
  ASSERT_EQ(validation.orders.size(), 1U);
  EXPECT_EQ(validation.orders.front().runs.size(), 4U);
  std::vector<std::string> groups;
  for (const ErrorSummary& summary : validation.summaries) groups.push_back(summary.group);
  EXPECT_EQ(std::ranges::count(groups, "wait_free"), 1);
  EXPECT_EQ(std::ranges::count(groups, "wait_free by parameter server"), 1);
  const Table runs = runs_table(validation);
  EXPECT_TRUE(std::ranges::any_of(runs.rows, [](const std::vector<Cell>& row) {
    return row.at(3).text == "wait_free by parameter server (2 servers)";
  }));
}

TEST(ValidateOrder, ComparesNothingAcrossLinks) {
  const auto over = [](const char* rate, std::vector<Measurement> rows) {
    for (Measurement& row : rows) row.axes["ranks_on_node"] = "1";
    ResultFile file = samples::file("e2e", std::move(rows));
    file.header.environment.variables["DLSCALE_CLUSTER"] =
        std::string("2 hosts on one machine with cores 0 | 1, links of ") + rate;
    return file;
  };
  const Validation validation =
      validate(exposing(good_guess), std::vector{over("1Gb/s, 1Gb/s", three_schedules()),
                                                 over("10Gb/s, 10Gb/s", three_schedules())});
  EXPECT_EQ(validation.runs.size(), 6U);  // no repeats of each other
  ASSERT_EQ(validation.orders.size(), 2U);
  for (const ScheduleOrder& order : validation.orders) {
    ASSERT_EQ(order.runs.size(), 3U);
    for (const std::size_t i : order.runs) {
      EXPECT_EQ(validation.runs[i].links, validation.runs[order.runs.front()].links);
    }
  }
  const Table runs = runs_table(validation);
  EXPECT_TRUE(std::ranges::any_of(runs.columns,
                                  [](const Column& column) { return column.heading == "links"; }));
  const Table orders = orders_table(validation, {});
  EXPECT_TRUE(contains(orders.rows.at(0).at(0).text, "2 ranks on 2 hosts, links of "));
}

TEST(ValidateOrder, IsJudgedWhereALimitIsGiven) {
  const std::map<Schedule, double> bad_guess{
      {Schedule::sequential, 0.1}, {Schedule::wait_free, 0.4}, {Schedule::bucketed, 0.3}};
  const Validation bad = validate_with(exposing(bad_guess), three_schedules());
  EXPECT_DOUBLE_EQ(bad.orders.front().correlation.value(), -0.5);
  const Validation good = validate_with(exposing(good_guess), three_schedules());
  const auto code = [](const Validation& validation, std::optional<double> order) {
    return exit_code(validation, {10, 10, order});
  };
  EXPECT_EQ(code(bad, {}), ExitCode::ok);
  EXPECT_EQ(code(bad, 0.9), ExitCode::regression);
  EXPECT_EQ(code(bad, -0.5), ExitCode::ok);
  EXPECT_EQ(code(good, 1.0), ExitCode::ok);
  EXPECT_NE(verdict_sentence(bad, {10, 10, 0.9}).find("limit of 0.90 is missed by 1 of 1"),
            std::string::npos);
  EXPECT_NE(verdict_sentence(good, {10, 10, 0.9}).find("limit of 0.90 is kept"), std::string::npos);
  EXPECT_EQ(verdict_sentence(good, {}).find("limit of 0.90"), std::string::npos);
}

TEST(ValidateOrder, CannotBeJudgedWhereNothingIsApart) {
  std::vector<Measurement> rows = three_schedules();
  for (Measurement& row : rows) {
    std::vector<double> wide{0.5, 1, 1, 1, 1, 1, 1, 2};
    row.series["t_iter"] = make_series("s", {wide, wide});
  }
  const Validation alike = validate_with(exposing(good_guess), rows);
  ASSERT_EQ(alike.orders.size(), 1U);
  EXPECT_EQ(alike.orders.front().pairs_apart, 0);
  EXPECT_EQ(exit_code(alike, {10, 10, {}}), ExitCode::ok);
  EXPECT_EQ(exit_code(alike, {10, 10, 0.9}), ExitCode::inconclusive);
  const Validation none = validate_with(exposing(good_guess), {measured(Schedule::wait_free, 0.3)});
  EXPECT_EQ(exit_code(none, {10, 10, 0.9}), ExitCode::inconclusive);
  EXPECT_NE(verdict_sentence(none, {10, 10, 0.9}).find("No order of schedules could be judged"),
            std::string::npos);
}

TEST(ValidateOrder, FailsALimitWhereAllArePredictedAlike) {
  const Validation flat = validate_with(exposing({}), three_schedules());
  EXPECT_FALSE(flat.orders.front().correlation.has_value());
  EXPECT_EQ(exit_code(flat, {10, 10, 0.1}), ExitCode::regression);
  EXPECT_NE(verdict_sentence(flat, {}).find("no rank correlation"), std::string::npos);
  EXPECT_EQ(orders_table(flat, {}).rows.at(0).at(2).text, "–");
}

TEST(ValidateOrder, StandsInEveryForm) {
  const Validation validation = validate_with(exposing(good_guess), three_schedules());
  const Document document = validation_document(validation, {10, 10, 0.9});
  expect_well_made(document);
  ASSERT_EQ(document.tables.size(), 4U);
  const Table& table = document.tables.back();
  EXPECT_EQ(cell(table, 0, "training"), "alexnet, batch 8, f32, 2 ranks on 1 host");
  EXPECT_EQ(cell(table, 0, "verdict"), "kept");
  const auto json = nlohmann::json::parse(document.json());
  const auto& order = json.at("schedule_orders").at(0);
  EXPECT_EQ(order.at("rank_correlation"), 1.0);
  EXPECT_EQ(order.at("passed"), true);
  const auto fastest = order.at("fastest_measured").get<std::size_t>();
  EXPECT_EQ(json.at("runs").at(fastest).at("run").at("schedule"), "bucketed");
  for (const auto& [heading, text] : {std::pair{"schedule", "sequential"},
                                      {"order_measured", "3"},
                                      {"order_predicted", "3"},
                                      {"order_correlation", "1"},
                                      {"order_pairs_right", "3"},
                                      {"fastest_predicted", "bucketed"},
                                      {"choice_loss", "0"}}) {
    EXPECT_EQ(cell(document.records, 0, heading), text) << heading;
  }
}

TEST(ValidateBound, TakesLaunchesOfKernelsForCompute) {
  const auto predictor = [](const TrainingRun& run) {
    model::Prediction prediction = samples::prediction(run, {});
    prediction.bound = "kernel launches";
    return prediction;
  };
  const Validation validation = validate_with(predictor, {measured(Schedule::wait_free, 0.1)});
  EXPECT_EQ(validation.runs.front().measured_bound, "compute");
  EXPECT_EQ(runs_table(validation).rows.front().back().text, "kernel launches");
}

TEST(ValidateBound, ToldOfWhatWasMeasuredAndPredicted) {
  const auto bounds = [](const PhaseTimes& times) {
    const Validation validation =
        validate_with(exposing({}), {e2e({"alexnet", 2, Schedule::wait_free, 0}, times)});
    const RunValidation& run = validation.runs.front();
    EXPECT_EQ(runs_table(validation).rows.front().back().text,
              run.measured_bound == "compute" ? "compute" : "compute / " + run.measured_bound);
    const auto json = nlohmann::json::parse(validation_document(validation, {}).json());
    EXPECT_EQ(json.at("runs").at(0).at("bound"), run.measured_bound);
    EXPECT_EQ(json.at("runs").at(0).at("prediction").at("bound"), "compute");
    return run.measured_bound;
  };
  EXPECT_EQ(bounds({}), "compute");
  PhaseTimes slow_links;
  slow_links.exposed = 2;
  EXPECT_EQ(bounds(slow_links), "communication");
  PhaseTimes slow_pictures;
  slow_pictures.io = 2;
  EXPECT_EQ(bounds(slow_pictures), "input");
}

}  // namespace
}  // namespace dlscale::report
