#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "core/network/convolution_shape.hpp"
#include "report/sections/sections.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

/// One row of a layer by a way that reaches `rate` operations of the direct convolution a second.
Measurement kernel_row(const std::string& kernel, const samples::AlgorithmSpec& way, double rate) {
  Measurement made = samples::algorithm(way);
  const auto keyed = parse_convolution_key(kernel, 4);
  const double seconds = direct_flops(keyed->shape).si() / rate;
  made.series["time"] = make_series("s", {std::vector<double>(8, seconds)});
  made.axes["kernel"] = kernel;
  made.axes["layer"] = kernel;
  return made;
}

/// 3 × 3 filters of several sizes; our Winograd takes `winograd` operations a second, or so.
ReportInput input_of(double winograd) {
  std::vector<Measurement> rows;
  for (const int channels : {32, 64, 96, 128, 192, 256}) {
    for (const int size : {14, 28, 40, 56, 112}) {
      const std::string kernel = "convolution c" + std::to_string(channels) + " h" +
                                 std::to_string(size) + " w" + std::to_string(size) +
                                 " k64 r3 s3 stride1 pad1 groups1";
      rows.push_back(kernel_row(kernel, {"onednn", "direct", "jit:avx512_core"}, 1e11));
      rows.push_back(
          kernel_row(kernel, {"native", "winograd_f4", "winograd F(4x4,3x3) avx3"}, winograd));
    }
  }
  ReportInput input;
  input.trained = false;
  input.results = {samples::file("conv", rows)};
  input.kernels = std::make_shared<KernelStudy>(input.results);
  return input;
}

std::vector<Table> tables_of(const Section& section) {
  std::vector<Table> tables;
  for (const Block& block : section.blocks) {
    if (const auto* table = std::get_if<Table>(&block)) tables.push_back(*table);
  }
  return tables;
}

TEST(ModelSection, HasErrorsByAlgorithmAndWhatChoosingLoses) {
  const ReportInput input = input_of(2.5e11);
  ASSERT_TRUE(input.kernels->judgement()) << input.kernels->judgement_obstacle();
  const std::vector<Table> tables = tables_of(model_section(input));
  ASSERT_EQ(tables.size(), 3);
  EXPECT_EQ(tables[0].rows.front().front().text, "native winograd_f4");
  EXPECT_EQ(tables[1].title, "Choosing the algorithm by prediction");
}

TEST(ModelSection, SaysWhyNothingWasJudged) {
  const Section section = model_section(samples::parts_input());
  ASSERT_EQ(section.blocks.size(), 1);
  EXPECT_TRUE(std::get<Paragraph>(section.blocks.front())
                  .text.starts_with("No model was judged: 1 shape measured"));
}

}  // namespace
}  // namespace dlscale::report
