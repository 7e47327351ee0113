#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/figure/comparison_figures.hpp"
#include "report/figure/figures.hpp"
#include "report/figure/gantt.hpp"
#include "report/figure/speedup_lines.hpp"
#include "report/history/history_strips.hpp"
#include "report/results/axes.hpp"
#include "report/results/step_parts.hpp"
#include "tests/report/drawable.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report::figure {
namespace {

ResultFile runs(int ranks) {
  return samples::file("e2e", {samples::e2e({"alexnet", ranks, Schedule::wait_free, 0}, {})});
}

Measurement all_reduce(double bytes, double seconds) {
  Measurement row = samples::timed("comm",
                                   {{"collective", "all_reduce"},
                                    {"bytes", std::to_string(static_cast<long long>(bytes))},
                                    {"ranks", "2"},
                                    {"ranks_on_node", "2"}},
                                   {seconds, seconds, seconds});
  return row;
}

TEST(Scale, MapsItsEndsToItsPixels) {
  const Scale linear{10, 20, 100, 300};
  EXPECT_DOUBLE_EQ(linear.at(10), 100);
  EXPECT_DOUBLE_EQ(linear.at(15), 200);
  const Scale logs{1, 100, 300, 100, Spacing::logarithmic};
  EXPECT_DOUBLE_EQ(logs.at(10), 200);
}

TEST(Ticks, LieWithinTheScaleAndAscend) {
  const std::vector<std::pair<double, double>> ranges{{0, 1}, {0, 7e-9}, {-3, 12}, {99, 100}};
  for (const auto& [low, high] : ranges) {
    const std::vector<Tick> ticks = linear_ticks({low, high});
    EXPECT_GE(ticks.size(), 3U);
    EXPECT_LE(ticks.size(), 11U);
    for (std::size_t i = 0; i < ticks.size(); ++i) {
      EXPECT_GE(ticks[i].value, low - 1e-9 * high);
      EXPECT_LE(ticks[i].value, high * (1 + 1e-9));
      if (i > 0) {
        EXPECT_GT(ticks[i].value, ticks[i - 1].value);
      }
    }
  }
  EXPECT_EQ(size_ticks({1000, 300000, 0, 1, Spacing::logarithmic}).front().text, "4 KiB");
  EXPECT_EQ(decade_ticks({0.5, 30, 0, 1, Spacing::logarithmic}).size(), 6U);  // .5 1 2 5 10 20
}

TEST(Frame, WidensARangeWithoutExtent) {
  const Frame frame = frame_in({0, 0, 10, 10}, {5, 5}, {0, 0});
  EXPECT_TRUE(std::isfinite(frame.x.at(5)));
  EXPECT_TRUE(std::isfinite(frame.y.at(0)));
}

TEST(Labels, LieApartAndAsNearAsTheyCan) {
  const std::vector<double> wanted{10, 11, 50, -5};
  const std::vector<double> sizes{4, 4, 4, 4};
  const std::vector<double> alone = spread(std::span(wanted).first(1), sizes, 0, 100, 2);
  EXPECT_EQ(alone, std::vector<double>{10});
  const std::vector<double> two = spread(std::span(wanted).first(2), sizes, 0, 100, 2);
  EXPECT_DOUBLE_EQ(two.at(0) + two.at(1), 21);  // both give way
  EXPECT_DOUBLE_EQ(two.at(1) - two.at(0), 6);
  const std::vector<double> all = spread(wanted, sizes, 0, 100, 2);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i] - all[i - 1], 6 - 1e-9);
  EXPECT_DOUBLE_EQ(spread(std::vector{99.0}, sizes, 0, 100, 2).front(), 96);
}

TEST(Canvas, EscapesTexts) {
  Canvas canvas(10, 10);
  canvas.text({0, 0}, "<script>\"&");
  canvas.rect({0, 0, 1, 1}, "c0", "<b>");
  const std::string svg = canvas.svg("<i>", "a & b");
  EXPECT_FALSE(contains(svg, "<script"));
  EXPECT_FALSE(contains(svg, "<b>"));
  EXPECT_FALSE(contains(svg, "<i>"));
}

TEST(StepParts, AddUpToTheStep) {
  const ResultFile file = runs(2);
  const std::vector<StepParts> all = step_parts(std::span(&file, 1));
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].ranks.size(), 2U);
  const samples::PhaseTimes times;
  EXPECT_NEAR(all[0].ranks[0][0], times.forward + times.backward + times.update, 1e-12);
  EXPECT_NEAR(all[0].ranks[0][1], times.exposed, 1e-12);
  EXPECT_NEAR(step_total(all[0].ranks[1]), times.total(), 1e-12);
}

TEST(StepParts, LeaveOutRepeatsAndRowsWithoutPhases) {
  ResultFile file = runs(1);
  file.measurements.push_back(samples::e2e({"alexnet", 1, Schedule::wait_free, 1}, {}));
  file.measurements.push_back(file.measurements.front());
  file.measurements.back().series.erase("t_b");
  file.measurements.push_back(file.measurements.front());
  file.measurements.back().status = Status::wrong;
  EXPECT_EQ(step_parts(std::span(&file, 1)).size(), 1U);
}

/// `--repeat` counts from 1 by default, and from any number in the hands of a script.
TEST(StepParts, ShowTheLowestRepeatOfEveryTraining) {
  using Repeats = std::vector<const char*>;
  for (const Repeats& repeats : {Repeats{"1"}, Repeats{"0", "1"}, Repeats{"2", "1", "3"},
                                 Repeats{"10", "9"}, Repeats{"morning", "evening"}, Repeats{""}}) {
    ResultFile file = runs(1);
    const Measurement row = file.measurements.front();
    file.measurements.clear();
    std::string lowest = repeats.front();
    for (const std::string repeat : repeats) {
      if (in_order(repeat, lowest)) lowest = repeat;
    }
    for (const std::string repeat : repeats) {
      for (const char* batch : {"8", "16"}) {
        Measurement launch = row;
        launch.axes["repeat"] = repeat;
        launch.axes["batch"] = batch;
        launch.series["t_u"].samples.front().assign(1, repeat == lowest ? 1 : 2);
        launch.series["t_f"].samples.front().assign(1, 0);
        launch.series["t_b"].samples.front().assign(1, 0);
        file.measurements.push_back(launch);
      }
    }
    const std::vector<StepParts> all = step_parts(std::span(&file, 1));
    ASSERT_EQ(all.size(), 2U) << repeats.front();
    EXPECT_EQ(all[0].ranks[0][0], 1) << repeats.front();
    EXPECT_EQ(all[1].ranks[0][0], 1) << repeats.front();
    EXPECT_TRUE(step_stack(std::span(&file, 1))) << repeats.front();
  }
}

TEST(StepTable, TellsOfRowsThatAreNotShown) {
  const ResultFile file = runs(8);
  const Table table = step_table(step_parts(std::span(&file, 1)), 3);
  EXPECT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.notes.back(), "5 more ranks are not shown");
}

TEST(StepStack, HasABarARankOfAllParts) {
  const ResultFile file = runs(3);
  const auto figure = step_stack(std::span(&file, 1));
  expect_drawable(figure);
  EXPECT_EQ(count(figure->svg, ": compute "), 3U);
  EXPECT_EQ(count(figure->svg, ": exposed communication "), 3U);
  EXPECT_EQ(count(figure->svg, ": other "), 3U);
}

TEST(StepStack, SaysHowManyRanksItLeavesOut) {
  const ResultFile file = runs(100);
  const auto figure = step_stack(std::span(&file, 1));
  expect_drawable(figure);
  EXPECT_TRUE(contains(figure->title, "(76 more are not drawn)"));
}

TEST(StepStack, IsNotThereWithoutTraining) {
  EXPECT_FALSE(step_stack({}));
  EXPECT_FALSE(straggler_map({}));
}

TEST(Stragglers, ShowWhichRankIsLateAndByHowMuch) {
  ResultFile file = runs(4);
  auto& series = file.measurements.front().series;
  const double own = samples::PhaseTimes{}.total() - samples::PhaseTimes{}.exposed;
  series.at("t_iter").samples[2][5] += 0.25 * own;
  const auto figure = straggler_map(std::span(&file, 1));
  expect_drawable(figure);
  EXPECT_TRUE(contains(figure->svg, "rank 2, step 5: +25.0 %"));
  EXPECT_EQ(count(figure->svg, ": +25.0 %<"), 1U);
}

TEST(Stragglers, JoinRanksAndStepsWhereThereAreMany) {
  ResultFile file = runs(200);
  const auto figure = straggler_map(std::span(&file, 1));
  expect_drawable(figure);
  EXPECT_LE(count(figure->svg, "<rect "), 64U * 120U + 2U);
}

TEST(Scaling, DrawsPredictionsWithTheirIntervalAndWhatWasMeasured) {
  ReportInput input = samples::report_input();
  for (auto& curve : input.curves) {
    for (model::Prediction& each : curve) {
      each.speedup_low = 0.9 * each.speedup;
      each.speedup_high = 1.1 * each.speedup;
    }
  }
  const auto figure = scaling(input.curves, input.validation);
  expect_drawable(figure);
  EXPECT_TRUE(contains(figure->svg, "<polygon"));
  EXPECT_TRUE(contains(figure->svg, " times, measured<"));
  EXPECT_TRUE(contains(figure->svg, ">ideal<"));
  EXPECT_FALSE(scaling({}, input.validation));
}

TEST(Scaling, OfADataSheetHasNoInterval) {
  ReportInput input = samples::report_input();
  for (auto& curve : input.curves) {
    for (model::Prediction& each : curve) each.speedup_low = each.speedup_high = std::nullopt;
  }
  const auto figure = scaling(input.curves, {});
  expect_drawable(figure);
  EXPECT_FALSE(contains(figure->svg, "<polygon"));
}

TEST(PhaseBars, HaveTwoBarsAConfigurationAndItsErrorTheLargestFirst) {
  ReportInput input = samples::report_input();
  input.validation.runs.resize(5);
  RunValidation& worst = input.validation.runs.back();
  worst.errors = {-0.75, -0.8, 0.1};
  worst.repeats = 3;
  worst.phases.front().predicted = 0.25 * worst.phases.front().measured;
  const auto figure = phase_bars(input.validation);
  expect_drawable(figure);
  EXPECT_EQ(count(figure->svg, "<title>predicted: forward "), 5U);
  const auto exchange = [](const auto& run) { return run.prediction.run.ranks > 1; };
  EXPECT_EQ(count(figure->svg, "<title>measured: exposed communication "),
            static_cast<std::size_t>(std::ranges::count_if(input.validation.runs, exchange)));
  EXPECT_TRUE(
      contains(cell(figure->data, 0, "bar"), ": -75.0 % (3 trainings: -80.0 % to +10.0 %)"));
  double next = 0;
  for (const RunValidation& run : std::span(input.validation.runs).first(4)) {
    const double error = run.iteration().predicted / run.iteration().measured - 1;
    if (std::abs(error) > std::abs(next)) next = error;
  }
  EXPECT_TRUE(contains(cell(figure->data, 2, "bar"), ": " + signed_percent(next)));
  EXPECT_FALSE(phase_bars({}));
}

TEST(PhaseBars, SayHowManyBarsTheyLeaveOut) {
  Validation validation = samples::report_input().validation;
  validation.runs.resize(1);
  validation.runs.resize(60, validation.runs.front());
  const auto figure = phase_bars(validation);
  expect_drawable(figure);
  EXPECT_TRUE(contains(figure->title, "55 more configurations are not drawn")) << figure->title;
  EXPECT_EQ(count(figure->svg, "<title>measured: forward "), 5U);
  EXPECT_EQ(figure->data.rows.size(), 120U);
}

TEST(SpeedupLines, HaveRoundTicksForManyRanks) {
  std::vector<SpeedupLine> lines{{"", {}}};
  for (int ranks = 1; ranks <= 60; ++ranks) lines.front().points.push_back({ranks, 0.9 * ranks});
  const std::string many = speedup_lines(lines)->svg;
  EXPECT_TRUE(contains(many, ">20</text>"));
  EXPECT_FALSE(contains(many, ">3</text>"));
  lines.front().points.resize(6);
  EXPECT_TRUE(contains(speedup_lines(lines)->svg, ">3</text>"));
}

TEST(SpeedupLines, SayWhereCommunicationTakesOver) {
  std::vector<SpeedupLine> lines{{"", {{1, 1.0}, {2, 1.9}, {4, 3.0}, {8, 3.5}}}};
  EXPECT_FALSE(contains(speedup_lines(lines)->svg, "communication takes over"));
  lines.front().points.at(2).communication_bound = true;
  const auto figure = speedup_lines(lines);
  expect_drawable(figure);
  EXPECT_TRUE(contains(figure->svg, "communication takes over"));
  EXPECT_TRUE(contains(figure->svg, ">3.50 × at 8 (44\u00a0%)<"));
  EXPECT_EQ(cell(figure->data, 3, "efficiency"), "43.8 %");
  lines.front().points.resize(1);
  EXPECT_FALSE(speedup_lines(lines));
}

TEST(Gantt, DrawsABoxInEachWindowThatHasIt) {
  const Table data{"Numbers", {{"stage"}}, {{{"1"}}}, {}};
  const Gantt chart{"A step",
                    "idle",
                    {"forward", "backward"},
                    {{0, 1}, {8, 9}},
                    {{"stage 1", "idle 4 %", {{0, 0, 0.9, "1"}, {1, 0.9, 8.5, "12"}}},
                     {"stage 2", "idle 90 %", {{0, 5, 6, "never"}}}},
                    data};
  const auto figure = gantt(chart);
  expect_drawable(figure);
  EXPECT_EQ(count(figure->svg, "<title>stage 1: forward 1, 0 to 0.9000 s"), 1U);
  EXPECT_EQ(count(figure->svg, "<title>stage 1: backward 12, "), 2U);
  EXPECT_EQ(count(figure->svg, ">never<"), 0U);
  EXPECT_EQ(count(figure->svg, ">idle 90 %<"), 1U);
  EXPECT_EQ(count(figure->svg, ">idle<"), 2U) << "in the widest gap of each stage";
  EXPECT_EQ(count(figure->svg, ">forward<") + count(figure->svg, ">backward<"), 2U);
  EXPECT_FALSE(gantt({.title = "nothing", .idle = "idle"}));
}

TEST(Roofline, HasAPanelAPassAndAMarkAKernelBelowTheCeilings) {
  const ReportInput input = samples::parts_input();
  ASSERT_TRUE(input.kernels->roofline());
  const auto figure = roofline(*input.kernels);
  expect_drawable(figure);
  EXPECT_EQ(count(figure->svg, "<circle "), input.kernels->placed().size());
  for (const char* text : {">forward<", ">backward_data<", "native winograd_f4<", " peak<",
                           " of roofline<", "vgg16 conv1_2, batch 4"}) {
    EXPECT_TRUE(contains(figure->svg, text)) << text;
  }
  EXPECT_FALSE(roofline(KernelStudy(std::vector{samples::algorithms()})));
}

TEST(Latency, ShowsSweepsWithTheirLevelsAndThoseOfTheSystem) {
  const std::vector results{samples::latency()};
  const auto figure = latency(results);
  expect_drawable(figure);
  EXPECT_TRUE(contains(figure->svg, ", level ends at "));
  EXPECT_TRUE(contains(figure->svg, "cache as the system names it"));
  EXPECT_TRUE(contains(figure->svg, "<polyline"));
  EXPECT_FALSE(latency({}));
}

TEST(BusBandwidth, PutsPointsWhereTheyWereMeasuredAndTheLineOfTheModel) {
  const ResultFile file =
      samples::file("comm", {all_reduce(1 << 20, 1e-3), all_reduce(1 << 24, 1e-2)});
  const model::Machine machine = samples::machine();
  const auto figure = bus_bandwidth(std::span(&file, 1), machine.collectives);
  expect_drawable(figure);
  // 2 ranks: busbw = algbw; 1 MiB in 1 ms is 1.0486 GB/s.
  EXPECT_TRUE(contains(figure->svg, "1.049 GB/s measured"));
  EXPECT_TRUE(contains(figure->svg, "<polyline"));
  EXPECT_FALSE(contains(bus_bandwidth(std::span(&file, 1), {})->svg, "<polyline"));
}

TEST(BusBandwidth, KeepsMemoryOfDevicesApart) {
  Measurement small = all_reduce(1 << 20, 1e-4);
  Measurement large = all_reduce(1 << 24, 1e-3);
  small.axes["memory"] = large.axes["memory"] = "device";
  const ResultFile file =
      samples::file("comm", {all_reduce(1 << 20, 1e-3), all_reduce(1 << 24, 1e-2), small, large});
  const auto figure = bus_bandwidth(std::span(&file, 1), samples::machine().collectives);
  expect_drawable(figure);
  EXPECT_TRUE(contains(figure->svg, "2 ranks, memory of devices, 1048576 bytes: 10.49 GB/s"));
  EXPECT_FALSE(contains(figure->svg, "10.49 GB/s measured,"));  // the line is of the host's memory
  EXPECT_TRUE(contains(figure->svg, "1.049 GB/s measured, "));
}

TEST(BusBandwidth, NeedsTwoSizesOrAFit) {
  const ResultFile file = samples::file("comm", {all_reduce(1 << 20, 1e-3)});
  EXPECT_FALSE(bus_bandwidth(std::span(&file, 1), {}));
  EXPECT_FALSE(bus_bandwidth({}, {}));
  expect_drawable(bus_bandwidth({}, samples::machine().collectives));
}

TEST(Forest, ShowsTheLargestChangesAndTellsOfTheRest) {
  std::vector<ForestRow> rows;
  for (int i = 0; i < 70; ++i) {
    rows.push_back(
        {fmt::format("metric {} <&>", i), 1 + 0.001 * i, {}, 1.2, "inconclusive", false, false});
  }
  const auto figure = forest(rows, 0.01);
  expect_drawable(figure);
  EXPECT_TRUE(contains(figure->title, "10 smaller changes are not drawn"));
  EXPECT_TRUE(contains(figure->svg, ">metric 69 &lt;&amp;&gt;<"));
  EXPECT_FALSE(contains(figure->svg, ">metric 9 &lt;"));
  EXPECT_FALSE(forest({}, 0.01));
}

TEST(Forest, StandsWithoutAMarginAndWithoutAChange) {
  const std::vector<ForestRow> rows{{"same", 1, 1, 1, "not regressed", false, false}};
  expect_drawable(forest(rows, 0));
}

TEST(Paired, HasAPointARound) {
  const std::vector<PairedRow> rows{{"metric", {1.01, 1.02, 0.99}}, {"one round", {1.0}}};
  const auto figure = paired(rows, 0.01);
  expect_drawable(figure);
  EXPECT_EQ(count(figure->svg, "<circle "), 3U);
  EXPECT_FALSE(paired(std::span(rows).subspan(1), 0.01));
}

TEST(HistoryStrips, ShowLevelsAndWhereTheyChanged) {
  StripRow row{"conv", "s", {}, {}, {}};
  for (int i = 0; i < 40; ++i) row.values.push_back((i < 20 ? 1.0 : 1.1) + 0.001 * (i % 3));
  row.found = regression::find_change_points(std::span<const double>(row.values));
  ASSERT_EQ(row.found.changes.size(), 1U);
  for (int i = 0; i < 40; ++i) row.labels.push_back(fmt::format("commit{}", i));
  const auto figure = history_strips(std::span(&row, 1));
  expect_drawable(figure);
  EXPECT_EQ(count(figure->svg, "<circle "), 41U) << "40 points and that of the legend";
  EXPECT_TRUE(contains(figure->svg, ">+10.0 % at commit20 (1.001 to 1.101 s)<") ||
              contains(figure->svg, ">+9.9 % at commit20 (1.001 to 1.101 s)<"))
      << figure->svg;
  EXPECT_TRUE(contains(figure->svg, ">1.101 s<")) << "the last level beside the plot";
}

TEST(HistoryStrips, ShowTheMedianOfEachSegmentMarksAndWhatTheHistoryDoesNotHave) {
  StripRow row{std::string(300, 'x'), "ms", {}, {}, {}, "lower is better", {}, 1.234};
  for (int i = 0; i < 120; ++i) row.values.push_back(i < 100 ? 1.5 : 1.75);
  row.found = regression::find_change_points(std::span<const double>(row.values));
  row.latest = "last 3 worse: no change yet";
  row.notes = {{5, "A1", "too old to be drawn"}, {90, "E1", "NCCL: 1 → 2"}, {90, "N1", "expected"}};
  const auto figure = history_strips(std::span(&row, 1));
  expect_drawable(figure);
  EXPECT_EQ(count(figure->svg, "<circle "), 102U);
  EXPECT_TRUE(contains(figure->svg, ">+16.7 % (1.500 to 1.750 ms)<")) << figure->svg;
  EXPECT_TRUE(contains(figure->svg, ">1.750 ms<"));
  EXPECT_TRUE(contains(figure->svg, ">last 3 worse: no change yet<"));
  EXPECT_TRUE(contains(figure->svg, "<title>NCCL: 1 → 2</title>E1<"));
  EXPECT_TRUE(contains(figure->svg, "</title>N1<"));
  EXPECT_FALSE(contains(figure->svg, "A1"));
  EXPECT_TRUE(contains(figure->svg, "reported here, not in the history: 1.234 ms"));
  EXPECT_TRUE(contains(figure->svg, "xxx…</text>")) << "a long name is cut";
  EXPECT_TRUE(contains(figure->svg, ">ms, lower is better<")) << figure->svg;
  EXPECT_TRUE(contains(figure->title, "; E: another environment; N: a note by people"));
}

TEST(HistoryStrips, LeaveOutPointsThatAreNoNumbersAndSeriesWithoutTwo) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<StripRow> rows{{"odd", "s", {1.0, nan, 1.0, -1, 0}, {}, {}},
                                   {"none", "s", {nan, nan}, {}, {}}};
  const auto figure = history_strips(rows);
  expect_drawable(figure);
  EXPECT_EQ(count(figure->svg, "<circle "), 3U);
  EXPECT_FALSE(contains(figure->svg, ">none"));
  EXPECT_FALSE(history_strips(std::span(rows).subspan(1)));
}

}  // namespace
}  // namespace dlscale::report::figure
