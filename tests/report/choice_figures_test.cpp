#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "report/figure/pareto.hpp"
#include "report/figure/stacked_bars.hpp"
#include "tests/report/drawable.hpp"
#include "tests/report/look_at.hpp"

namespace dlscale::report::figure {
namespace {

TEST(StackedBars, LabelTheirPartsDirectlyWithoutOverlap) {
  const StackedBars bars{
      "bars",
      "Title",
      "time, ms",
      "",
      {{"one", "", {{"a long name", 0.001}, {"another long name", 0.001}, {"the rest", 0.1}}}}};
  const auto figure = stacked_bars(bars);
  expect_drawable(figure);
  for (const char* label : {">a long name<", ">another long name<", ">the rest<"}) {
    EXPECT_EQ(count(figure->svg, label), 1U) << label;
  }
  EXPECT_FALSE(stacked_bars({"none", "Title", "time, ms", "", {{"no time"}}}));
}

TEST(StackedBars, NamePartsThatOnlyShorterBarsHave) {
  const auto figure = stacked_bars({"bars",
                                    "Title",
                                    "time, ms",
                                    "",
                                    {{"long", "", {{"compute", 0.1}, {"loss", 0}}},
                                     {"short", "", {{"compute", 0.05}, {"loss", 0.02}}}}});
  expect_drawable(figure);
  EXPECT_EQ(count(figure->svg, ">loss<"), 1U);
  EXPECT_EQ(count(figure->svg, ">short, 70.0 ms<"), 1U) << "the sum, away from whiskers";
}

TEST(ParetoFront, ShowsTheIntervalsOfItsChoices) {
  std::vector<ParetoPoint> points{{"cheap, slow", "cheap", 8, 1, false, true},
                                  {"quick, dear", "quick", 2, 3, true, true}};
  const ParetoAxes axes{"time, h", "rank hours, h"};
  EXPECT_FALSE(contains(pareto_front(points, axes)->title, "90 % interval"));
  points.front().x_low = 7;
  points.front().x_high = 11;
  const auto figure = pareto_front(points, axes);
  expect_drawable(figure);
  EXPECT_TRUE(contains(figure->title, "whiskers: 90 % interval"));
  EXPECT_EQ(cell(figure->data, 0, "90 % interval"), "7.000 to 11.00");
  EXPECT_EQ(cell(figure->data, 1, "90 % interval"), "–");
  points.front().y_low = 0.9;
  points.front().y_high = 1.4;
  EXPECT_EQ(cell(pareto_front(points, axes)->data, 0, "90 % interval of these"), "0.9000 to 1.400");
  EXPECT_EQ(count(pareto_front(points, axes)->svg, "class=\"axis faint\""), 3U)
      << "a whisker with two ends";
}

TEST(ParetoFront, BoundsWhatItBeatsByAStaircase) {
  const std::vector<ParetoPoint> points{{"quick", "quick", 1, 3, true, true},
                                        {"lean", "lean", 3, 1, false, true},
                                        {"beaten", "", 2, 3.5, false, false}};
  const auto figure = pareto_front(points, {"time, h", "memory, GB"});
  const std::size_t line = figure->svg.find("<polyline points=\"");
  const std::size_t from = line + 18;
  const std::string stairs = figure->svg.substr(from, figure->svg.find('"', from) - from);
  EXPECT_EQ(count(stairs, ","), 3U) << "two points, and the corner above the lower one: " << stairs;
  EXPECT_TRUE(contains(figure->title, "; grey: another does; ring: the best"));
}

TEST(ParetoFront, HasTheFirstOfEqualPointsThatNoOtherBeats) {
  std::vector<ParetoPoint> points{
      {"a", "", 1, 3}, {"as a", "", 1, 3}, {"beaten", "", 1, 4}, {"b", "", 2, 2}};
  mark_front(points);
  std::string front;
  for (const ParetoPoint& point : points) front += point.front ? point.name + ";" : "";
  EXPECT_EQ(front, "a;b;");
}

TEST(ParetoFront, LabelsEachPointUpToAColumn) {
  std::vector<ParetoPoint> points;
  for (int i = 1; i <= 40; ++i) {
    points.push_back({std::to_string(i), fmt::format("choice {}", i), 1.0 * i, 50.0 - i, i == 20});
  }
  const auto all = [&points] { return pareto_front(points, {"x", "y"})->svg; };
  EXPECT_EQ(count(all(), ">choice "), 10U);
  for (const char* label : {">choice 1<", ">choice 20<", ">choice 40<"}) {
    EXPECT_EQ(count(all(), label), 1U) << label;
  }
  points.erase(points.begin() + 8, points.end());
  EXPECT_EQ(count(all(), ">choice "), 8U);
}

}  // namespace
}  // namespace dlscale::report::figure
