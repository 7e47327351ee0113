// Contention from rows of bench comm --overlap-with whose slow-downs are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/calibrate/contention.hpp"
#include "tests/core/support.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;

constexpr int samples = 9;

/// What messages and work cost each other.
struct Truth {
  double compute = 2;
  double messages = 1.5;
};

/// What a row measures of work of `work` s beside messages of `message` s that begin `late` s after
/// it.
struct Times {
  double work = 1;
  double message = 1;
  double late = 0;
};

/// On two ranks, the second of which waits for the first.
Series series(std::vector<double> seconds) {
  std::vector<double> of_other(seconds.size(), 0);
  return make_series("s", {std::move(seconds), std::move(of_other)});
}

/// A sample for each slow-down, by their definition: both go at full speed but while the other is
/// there, too.
Measurement sampled_row(Axes axes, const Times& times, const std::vector<Truth>& truths) {
  const auto [work, message, late] = times;
  std::map<std::string, std::vector<double>> seconds;
  for (const Truth& truth : truths) {
    double computed = late + std::min((work - late) * truth.compute, message * truth.messages);
    double sent = computed - late;
    const double of_work = late + sent / truth.compute;
    const double of_message = sent / truth.messages;
    computed += work - of_work;
    sent += message - of_message;
    seconds["compute_alone"].push_back(work);
    seconds["messages_alone"].push_back(message);
    seconds["compute_beside"].push_back(computed);
    seconds["time"].push_back(sent);
    seconds["together"].push_back(std::max(computed, late + sent));
  }
  Measurement row;
  row.benchmark = "comm";
  row.axes = std::move(axes);
  for (auto& [name, of_one] : seconds) {
    row.series[name] = series(std::move(of_one));
  }
  row.implementation = "synthetic";
  return row;
}

Measurement beside_row(Axes axes, const Times& times, const Truth& truth) {
  return sampled_row(std::move(axes), times, std::vector<Truth>(samples, truth));
}

Axes beside_axes(const std::string& work, double bytes) {
  Axes axes{{"collective", "all_reduce"},
            {"ranks", "2"},
            {"ranks_on_node", "2"},
            {"library", "MPI"},
            {"waiting", "sleep"},
            {"cache", "cold"},
            {"dtype", "f32"},
            {"beside", work},
            {"beside_work", std::string(1, '1')}};
  axes["bytes"] = std::to_string(static_cast<long>(bytes));
  if (work != "memcpy") {
    axes["backend"] = "onednn";
    axes["threads"] = std::string(1, '1');
  }
  return axes;
}

/// Rows of all sizes, beside work as long as them.
std::vector<Measurement> sweep(const std::string& work, const Truth& truth, double from = 1024,
                               double to = 1e8) {
  std::vector<Measurement> rows;
  for (double bytes = from; bytes < to; bytes *= 2) {
    const double alone = all_reduce_seconds(bytes);
    rows.push_back(beside_row(beside_axes(work, bytes), {alone, alone, 0}, truth));
  }
  return rows;
}

ResultFile beside_file(std::vector<Measurement> rows, const std::string& cores = "2") {
  ResultFile result = file("beside.jsonl", std::move(rows));
  result.header.run["cores_per_rank"] = cores;
  return result;
}

/// With all that messages alone and kernels tell.
Machine fitted(std::vector<Measurement> rows, const CalibrateOptions& options = {}) {
  auto results = synthetic::results(branched(), 8);
  results.push_back(beside_file(std::move(rows)));
  return calibrate(two_workers(), results, options);
}

std::string contention_fit_failure(const ResultFile& beside) {
  auto results = synthetic::results(branched(), 8);
  results.push_back(beside);
  return test::config_error([&] { calibrate(two_workers(), results); });
}

void expect_factors(const ContentionRange& range, const Truth& truth) {
  EXPECT_NEAR(range.compute.value, truth.compute, 1e-9);
  EXPECT_NEAR(range.messages.value, truth.messages, 1e-9);
}

TEST(ContentionFit, FindsTheSlowDownsWhicheverEndsFirstAndHoweverLateItBegins) {
  for (const Times& times : {Times{1, 1, 0}, Times{3, 1, 0}, Times{1, 3, 0}, Times{1, 1, 0.25},
                             Times{2, 0.5, 1}, Times{1, 4, 0.5}}) {
    std::vector<Measurement> rows;
    for (const double bytes : {1e6, 2e6, 4e6}) {
      rows.push_back(beside_row(beside_axes("conv", bytes), times, {}));
    }
    const Machine machine = fitted(rows);
    ASSERT_EQ(machine.contention.size(), 1U);
    ASSERT_EQ(machine.contention.front().ranges.size(), 1U);
    expect_factors(machine.contention.front().ranges.front(), {});
    EXPECT_EQ(machine.contention.front().ranges.front().points, 3);
  }
}

TEST(ContentionFit, KnowsTheWorkTheRanksAndTheirCores) {
  std::vector<Measurement> rows = sweep("conv", {});
  for (const char* work : {"gemm", "memcpy"}) {
    for (Measurement& row : sweep(work, {1.25, 3})) rows.push_back(std::move(row));
  }
  const Machine machine = fitted(rows);
  ASSERT_EQ(machine.contention.size(), 3U);
  for (const ContentionFit& fit : machine.contention) {
    EXPECT_EQ(fit.collective, "all_reduce");
    EXPECT_EQ(fit.ranks, 2);
    EXPECT_EQ(fit.ranks_on_node, 2);
    EXPECT_EQ(fit.waiting, "sleep");
    EXPECT_EQ(fit.threads, 1);
    EXPECT_EQ(fit.cores_per_rank, 2);
    EXPECT_FALSE(fit.shares_cores());
    EXPECT_EQ(fit.source, "beside.jsonl");
    ASSERT_EQ(fit.ranges.size(), 1U) << work_kind_name(fit.work);
    expect_factors(fit.ranges.front(), fit.work == WorkKind::conv ? Truth{} : Truth{1.25, 3});
  }
}

TEST(ContentionFit, SaysNothingOfMessagesAlone) {
  const Machine with = fitted(sweep("conv", {}));
  const Machine without = calibrate(two_workers(), synthetic::results(branched(), 8));
  auto json = nlohmann::json::parse(machine_json(with));
  ASSERT_EQ(json.erase("contention"), 1U);
  auto expected = nlohmann::json::parse(machine_json(without));
  EXPECT_EQ(json["collectives"], expected["collectives"]);
  EXPECT_EQ(json["algorithms"], expected["algorithms"]);
  EXPECT_FALSE(expected.contains("contention"));
}

TEST(ContentionFit, PartsSizesOnlyWhereTheyDifferAndThereByProtocol) {
  std::vector<Measurement> rows = sweep("conv", {3, 2}, 1024, 90000);
  for (Measurement& row : sweep("conv", {1.5, 1.2}, 131072)) rows.push_back(std::move(row));
  const Machine machine = fitted(rows);
  ASSERT_EQ(machine.contention.size(), 1U);
  const ContentionFit& fit = machine.contention.front();
  ASSERT_EQ(fit.ranges.size(), 2U);
  EXPECT_EQ(fit.ranges[0].to, machine.collectives.front().cost.segments().front().to);
  EXPECT_EQ(fit.ranges[1].from, fit.ranges[0].to);
  expect_factors(fit.ranges[0], {3, 2});
  expect_factors(fit.ranges[1], {1.5, 1.2});
  expect_factors(fit.range(Bytes(4)), {3, 2});
  expect_factors(fit.range(Bytes(1e6)), {1.5, 1.2});
  expect_factors(fit.range(Bytes(1e12)), {1.5, 1.2});
}

TEST(ContentionFit, PartsSizesOfOneProtocolHalfWay) {
  const Times times;
  const ContentionFit fit = fitted({beside_row(beside_axes("conv", 1e6), times, Truth{4, 2}),
                                    beside_row(beside_axes("conv", 4e6), times, Truth{4, 1.1})})
                                .contention.front();
  ASSERT_EQ(fit.ranges.size(), 2U);
  EXPECT_NEAR(fit.ranges[0].to.si(), 2e6, 1);
  EXPECT_EQ(fit.ranges[1].from, fit.ranges[0].to);
  expect_factors(fit.ranges[0], {4, 2});
  expect_factors(fit.ranges[1], {4, 1.1});
  EXPECT_EQ(fit.ranges[0].points, 1);
}

/// Slow-downs of work of nine samples, sorted as they may be.
std::vector<Truth> spread(int low, int middle, int high) {
  std::vector<Truth> truths(static_cast<std::size_t>(low), Truth{1.2, 1.5});
  truths.insert(truths.end(), static_cast<std::size_t>(middle), Truth{1.5, 1.5});
  truths.insert(truths.end(), static_cast<std::size_t>(high), Truth{2.0, 1.5});
  return truths;
}

TEST(ContentionFit, HasTheIntervalOfSizesThatMayTellTheSame) {
  std::vector<Measurement> rows;
  double bytes = 1e6;
  for (const auto& truths : {spread(5, 0, 4), spread(2, 5, 2), spread(4, 0, 5)}) {
    rows.push_back(sampled_row(beside_axes("conv", bytes), Times{}, truths));
    bytes *= 2;
  }
  const ContentionFit fit = fitted(rows).contention.front();
  ASSERT_EQ(fit.ranges.size(), 1U);
  const ContentionRange& range = fit.ranges.front();
  EXPECT_EQ(range.points, 3);
  EXPECT_NEAR(range.compute.low, 1.2, 1e-9);
  EXPECT_NEAR(range.compute.value, 1.5, 1e-9);
  EXPECT_NEAR(range.compute.high, 2.0, 1e-9);
  EXPECT_NEAR(range.messages.low, 1.5, 1e-9);
  EXPECT_NEAR(range.messages.high, 1.5, 1e-9);
}

TEST(ContentionFit, PoolsRepeatsOfASize) {
  std::vector<Measurement> rows;
  for (const double compute : {1.2, 1.25, 5.0}) {
    rows.push_back(beside_row(beside_axes("conv", 1e6), {1, 1, 0}, {compute, 1.5}));
  }
  // As one size whose interval is too wide,
  EXPECT_TRUE(fitted(rows).contention.empty());
  rows.pop_back();
  // or narrow enough: of rates, as all medians are.
  const ContentionRange range = fitted(rows).contention.front().ranges.front();
  EXPECT_EQ(range.points, 1);
  EXPECT_NEAR(range.compute.value, 2 / (1 / 1.2 + 1 / 1.25), 1e-9);
}

TEST(ContentionFit, LeavesOutMessagesTooShortBesideTheWorkToTell) {
  // Work of 1 s, ± 5 %, beside messages of 20 ms.
  Measurement row = beside_row(beside_axes("conv", 1e6), {1, 0.02, 0}, {});
  std::vector<double> work;
  for (int i = 0; i < samples; ++i) work.push_back(1 + 0.0125 * (i - samples / 2));
  row.series["compute_alone"] = make_series("s", {work});
  EXPECT_TRUE(fitted({row}).contention.empty());
  // Messages that begin when the work is done meet nothing.
  row = beside_row(beside_axes("conv", 1e6), {1, 1, 1}, {});
  EXPECT_TRUE(fitted({row}).contention.empty());
}

TEST(ContentionFit, BoundsWhatStandsStill) {
  Measurement row = beside_row(beside_axes("conv", 1e6), {1, 1, 0}, {1, 1});
  row.series["compute_beside"] =
      series(std::vector<double>(samples, 3));  // 1 s more than the messages took
  row.series["together"] = series(std::vector<double>(samples, 3));
  const ContentionRange range = fitted({row}).contention.front().ranges.front();
  EXPECT_EQ(range.compute.value, most_slowdown);
  EXPECT_EQ(range.messages.value, 1);
  // And what is quicker beside each other is not slowed down.
  row.series["compute_beside"] = series(std::vector<double>(samples, 0.9));
  row.series["together"] = series(std::vector<double>(samples, 1));
  EXPECT_EQ(fitted({row}).contention.front().ranges.front().compute.value, 1);
}

TEST(ContentionFit, PassesOverOtherCachesElementsAndWhatFailed) {
  for (const auto& [axis, value] :
       {std::pair("cache", "hot"), std::pair("dtype", "f64"), std::pair("algorithm", "ring"),
        std::pair("mode", "persistent")}) {
    Measurement row = beside_row(beside_axes("conv", 1e6), {1, 1, 0}, {});
    row.axes[axis] = value;
    EXPECT_TRUE(fitted({row}).contention.empty()) << axis;
  }
  Measurement row = beside_row(beside_axes("conv", 1e6), {1, 1, 0}, {});
  row.status = Status::wrong;
  EXPECT_TRUE(fitted({row}).contention.empty());
}

TEST(ContentionFit, SaysWhichCachesItPassesOver) {
  std::vector<Measurement> rows = sweep("conv", {});
  EXPECT_TRUE(contention_notes(std::vector{beside_file(rows)}, {}).empty());
  rows.front().axes["cache"] = "hot";
  rows.back().axes["cache"] = "hot";
  rows[1].axes["cache"] = "reused";
  const auto notes = contention_notes(std::vector{beside_file(rows)}, {});
  ASSERT_EQ(notes.size(), 2U);
  test::expect_contains(notes[0],
                        "2 results of messages beside work with cache = hot are left out");
  test::expect_contains(notes[1],
                        "1 result of messages beside work with cache = reused is left out");
  CalibrateOptions native;
  native.backend = "native";  // of which there are none
  EXPECT_TRUE(contention_notes(std::vector{beside_file(rows)}, native).empty());
}

TEST(ContentionFit, IsOfTheChosenBackend) {
  std::vector<Measurement> rows = sweep("conv", {});
  for (Measurement& row : sweep("gemm", {})) {
    row.axes["backend"] = "native";
    rows.push_back(std::move(row));
  }
  CalibrateOptions options;
  options.backend = "onednn";
  const Machine machine = fitted(rows, options);
  ASSERT_EQ(machine.contention.size(), 1U);
  EXPECT_EQ(machine.contention.front().work, WorkKind::conv);
}

TEST(ContentionFit, RefusesRowsThatDoNotSayWhatTheyAreOf) {
  const std::vector<Measurement> rows = sweep("conv", {});
  ResultFile unsaid = beside_file(rows);
  unsaid.header.run.clear();
  test::expect_contains(contention_fit_failure(unsaid), "beside.jsonl does not say how many cores");
  test::expect_contains(contention_fit_failure(beside_file(rows, "many")), "how many cores");
  ResultFile unknown = beside_file(rows);
  unknown.measurements.front().axes["beside"] = "sort";
  test::expect_contains(contention_fit_failure(unknown), "\"sort\" is not work");
  ResultFile lacking = beside_file(rows);
  lacking.measurements.front().series.erase("together");
  test::expect_contains(contention_fit_failure(lacking), "no series \"together\"");
}

TEST(ContentionFit, SurvivesARoundTripAndIsMissingInOlderFiles) {
  const Machine machine = fitted(sweep("memcpy", {2.5, 1.125}));
  const std::string text = machine_json(machine);
  const Machine read = machine_from_json(text, "m.json");
  EXPECT_EQ(machine_json(read), text);
  ASSERT_EQ(read.contention.size(), 1U);
  EXPECT_EQ(read.contention.front().work, WorkKind::copy);
  EXPECT_NEAR(read.contention.front().ranges.front().compute.value, 2.5, 1e-9);
  auto json = nlohmann::json::parse(text);
  json["contention"][0]["ranges"][0]["messages_slowdown"]["low"] = 0.5;
  test::expect_contains(test::config_error([&] { machine_from_json(json.dump(), "m.json"); }),
                        "/contention/0/ranges/0/messages_slowdown is below 1");
  ASSERT_EQ(json.erase("contention"), 1U);
  EXPECT_TRUE(machine_from_json(json.dump(), "m.json").contention.empty());
}

}  // namespace
}  // namespace dlscale::model
