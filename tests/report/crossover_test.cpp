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
  EXPECT_TRUE(contains(cell(figure->data, 2, "fastest"), " (tie)"));
  EXPECT_TRUE(contains(figure->svg, ">recursive<"));
  EXPECT_TRUE(contains(figure->svg, ">ring<"));
  EXPECT_TRUE(contains(figure->svg, "recursive_doubling takes 3.00 times as long"));
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
  EXPECT_FALSE(convolution_crossover({}));
}

}  // namespace
}  // namespace dlscale::report::figure
