#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "report/figure/figures.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report::figure {
namespace {

/// An all-reduce by an algorithm, eight times within half a percent.
Measurement reduced(const std::string& algorithm, int ranks, double bytes, double seconds) {
  std::vector<double> times;
  for (int i = 0; i < 8; ++i) times.push_back(seconds * (1 + 0.0005 * i));
  return samples::timed("comm",
                        {{"collective", "all_reduce"},
                         {"algorithm", algorithm},
                         {"bytes", std::to_string(static_cast<long long>(bytes))},
                         {"ranks", std::to_string(ranks)},
                         {"ranks_on_node", std::to_string(ranks)}},
                        times);
}

TEST(MessageCrossover, ShowsWhichAlgorithmIsFastestWhere) {
  const ResultFile file = samples::file(
      "comm", {reduced("ring", 2, 1024, 2e-5), reduced("recursive_doubling", 2, 1024, 1e-5),
               reduced("ring", 2, 1 << 20, 1e-3), reduced("recursive_doubling", 2, 1 << 20, 3e-3),
               reduced("ring", 4, 1 << 20, 2e-3), reduced("recursive_doubling", 4, 1 << 20, 2e-3)});
  const auto figure = message_crossover(std::span(&file, 1));
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->file, "message_crossover.svg");
  ASSERT_EQ(figure->data.rows.size(), 3U);
  EXPECT_EQ(cell(figure->data, 0, "fastest"), "recursive_doubling");
  EXPECT_EQ(cell(figure->data, 0, "times as long"), "2.00");
  EXPECT_EQ(cell(figure->data, 1, "fastest"), "ring");
  EXPECT_EQ(cell(figure->data, 1, "ranks"), "2 ranks");
  EXPECT_EQ(cell(figure->data, 0, "ties with"), "");
  EXPECT_NE(cell(figure->data, 2, "ties with"), "");
  EXPECT_TRUE(contains(cell(figure->data, 0, "its 95 % interval"), "20.0"));
  EXPECT_TRUE(contains(figure->svg, ">recursive<"));
  EXPECT_TRUE(contains(figure->svg, ">ring<"));
  const std::size_t outline = figure->svg.find("class=\"hollow s");
  ASSERT_NE(outline, std::string::npos) << "a tie without colours";
  EXPECT_EQ(figure->svg.find("class=\"hollow s", outline + 1), std::string::npos)
      << "a clear cell is filled";
  EXPECT_TRUE(contains(figure->svg, "recursive_doubling takes 3.00 times as long"));
  EXPECT_TRUE(contains(figure->svg, ">Filled: alone the fastest. Outlined: a tie, "));
}

TEST(MessageCrossover, MarksNarrowCellsByALetterOfALegend) {
  std::vector<Measurement> rows;
  for (int i = 0; i < 20; ++i) {
    rows.push_back(reduced("ring", 2, 1 << i, i % 2 == 0 ? 1e-5 : 3e-5));
    rows.push_back(reduced("recursive_doubling", 2, 1 << i, 2e-5));
  }
  const ResultFile file = samples::file("comm", rows);
  const auto figure = message_crossover(std::span(&file, 1));
  ASSERT_TRUE(figure);
  EXPECT_FALSE(contains(figure->svg, ">recur<")) << "a name that is cut";
  EXPECT_TRUE(contains(figure->svg, ">A<"));
  EXPECT_TRUE(contains(figure->svg, ">A: recursive doubling<"));
  EXPECT_TRUE(contains(figure->svg, ">B: ring<")) << "names of four letters do not fit either";
}

TEST(MessageCrossover, TakesTheMedianOfSeveralRunsAndAllTheirIntervals) {
  std::vector<Measurement> rows{reduced("ring", 2, 1024, 1.5e-5), reduced("ring", 2, 2048, 1e-5),
                                reduced("tree", 2, 2048, 2e-5)};
  for (const double seconds : {1e-5, 2e-5, 3e-5}) {  // its fastest run is faster than ring
    rows.push_back(reduced("tree", 2, 1024, seconds));
    rows.back().axes["repeat"] = std::to_string(rows.size());
  }
  const ResultFile file = samples::file("comm", rows);
  const auto figure = message_crossover(std::span(&file, 1));
  ASSERT_TRUE(figure);
  EXPECT_EQ(cell(figure->data, 0, "fastest"), "ring");
  EXPECT_EQ(cell(figure->data, 0, "times as long"), "1.33");
  EXPECT_EQ(cell(figure->data, 0, "ties with"), "tree");
}

TEST(MessageCrossover, HatchesAlgorithmsBeyondTheLastColour) {
  std::vector<Measurement> rows;
  for (int i = 0; i < 24; ++i) {
    for (int j = 0; j < 8; ++j) {
      rows.push_back(reduced(std::string(1, static_cast<char>('p' + j)) + "_by_name", 2, 1 << i,
                             i % 8 == j ? 1e-5 : 2e-5));
    }
  }
  const ResultFile file = samples::file("comm", rows);
  const auto figure = message_crossover(std::span(&file, 1));
  ASSERT_TRUE(figure);
  EXPECT_TRUE(contains(figure->svg, ">H: w by name (hatched)<"));
  EXPECT_FALSE(contains(figure->svg, ">G: v by name (hatched)<"));
  EXPECT_TRUE(contains(figure->svg, "class=\"s0\""));
}

TEST(MessageCrossover, SaysHowManyMapsItDoesNotDraw) {
  std::vector<Measurement> rows;
  for (const char* collective : {"a", "b", "c", "d", "e"}) {
    for (const double bytes : {1024.0, 2048.0}) {
      for (const char* algorithm : {"ring", "tree"}) {
        rows.push_back(reduced(algorithm, 2, bytes, *algorithm == 'r' ? 1e-5 : 2e-5));
        rows.back().axes["waiting"] = collective;
      }
    }
  }
  const ResultFile file = samples::file("comm", rows);
  const auto figure = message_crossover(std::span(&file, 1));
  ASSERT_TRUE(figure);
  EXPECT_TRUE(contains(figure->title, "4 of 5 maps are drawn; the table of numbers has all."))
      << figure->title;
  EXPECT_EQ(figure->data.rows.size(), 10U);
}

TEST(MessageCrossover, NeedsTwoPlacesWithSeveralAlgorithms) {
  const ResultFile file =
      samples::file("comm", {reduced("ring", 2, 1024, 2e-5), reduced("library", 2, 1024, 1e-5),
                             reduced("library", 2, 2048, 1e-5)});
  EXPECT_FALSE(message_crossover(std::span(&file, 1)));
  EXPECT_FALSE(message_crossover({}));
}

Measurement convolution(const std::string& algorithm, const std::string& shape, double seconds) {
  Measurement row = samples::algorithm({"native", algorithm, algorithm, "forward", seconds});
  row.axes["kernel"] = "convolution " + shape;
  row.axes["layer"] = shape;
  return row;
}

TEST(ConvolutionCrossover, JoinsShapesOfACellByTheirGeometricMean) {
  const std::string few = "c64 h56 w56 k64 r3 s3 stride1 pad1 groups1";
  const std::string many = "c256 h56 w56 k256 r3 s3 stride1 pad1 groups1";
  const std::string other = "c64 h28 w28 k64 r1 s1 stride1 pad0 groups1";
  const ResultFile file =
      samples::file("conv", {convolution("im2col", few, 1), convolution("winograd_f4", few, 2),
                             convolution("im2col", many, 9), convolution("winograd_f4", many, 2),
                             convolution("im2col", other, 1), convolution("direct", other, 4)});
  const auto figure = convolution_crossover(std::span(&file, 1));
  ASSERT_TRUE(figure);
  ASSERT_EQ(figure->data.rows.size(), 2U);
  EXPECT_EQ(cell(figure->data, 0, "filter"), "1 × 1");
  EXPECT_EQ(cell(figure->data, 0, "times as long"), "4.00");
  EXPECT_EQ(cell(figure->data, 1, "filter"), "3 × 3");
  EXPECT_TRUE(contains(cell(figure->data, 1, "fastest"), "native winograd_f4"));
  EXPECT_EQ(cell(figure->data, 1, "times as long"), "1.50");  // √(1·9) over √(2·2)
  EXPECT_TRUE(contains(figure->title, "an algorithm that lacks one of them is left out."));
  EXPECT_FALSE(convolution_crossover({}));
}

}  // namespace
}  // namespace dlscale::report::figure
