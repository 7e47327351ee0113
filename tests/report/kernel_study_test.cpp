#include "report/kernels/kernel_study.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report/kernels/kernel_tables.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/samples.hpp"

namespace dlscale::report {
namespace {

TEST(KernelStudy, IsOfTheProcessorOnly) {
  ResultFile file = samples::algorithms();
  Measurement gpu =
      samples::algorithm({.implementation = "winograd F(4x4,3x3) avx3+gemm", .seconds = 1e-7});
  gpu.axes["backend"] = "cuda";
  file.measurements.push_back(gpu);
  const std::vector files{file, samples::memory()};
  const KernelStudy study(files);
  ASSERT_TRUE(study.roofline().has_value());
  const std::vector without{samples::algorithms(), samples::memory()};
  EXPECT_EQ(study.roofline()->peak(), KernelStudy(without).roofline()->peak());
  EXPECT_FALSE(study.share(gpu).has_value());
  file.measurements = {gpu};
  const std::vector alone{file, samples::memory()};
  EXPECT_TRUE(contains(KernelStudy(alone).obstacle(), "on the processor"));
}

TEST(KernelStudy, CountsNoTapsOnThePaddingThatOlderRowsCount) {
  ResultFile file = samples::algorithms();
  Measurement direct = samples::algorithm(
      {.backend = "onednn", .algorithm = "direct", .implementation = "jit:avx512_core"});
  direct.axes["kernel"] = "convolution c64 h7 w7 k64 r11 s11 stride1 pad5 groups1";
  direct.algorithmic_work = Work{Flops(2.0 * 4 * 64 * 64 * 77 * 77), Bytes(1e6)};
  file.measurements.push_back(direct);
  const std::vector files{file, samples::memory()};
  const KernelStudy study(files);
  const auto executed = study.executed(direct);
  ASSERT_TRUE(executed.has_value());
  EXPECT_DOUBLE_EQ(executed->flops.si(), 2.0 * 4 * 64 * 64 * 47 * 47);
  const Measurement& winograd = file.measurements[2];
  ASSERT_TRUE(study.executed(winograd).has_value());
  EXPECT_EQ(study.executed(winograd)->flops, winograd.algorithmic_work->flops);
}

TEST(KernelStudy, GivesNoShareBehindAProducer) {
  ResultFile file = samples::algorithms();
  Measurement warm = file.measurements.front();
  warm.axes["cache"] = "producer";
  file.measurements.push_back(warm);
  const std::vector files{file, samples::memory()};
  const KernelStudy study(files);
  EXPECT_FALSE(study.share(warm).has_value());
  EXPECT_TRUE(study.share(file.measurements.front()).has_value());
  file.measurements = {warm};
  const std::vector alone{file, samples::memory()};
  EXPECT_TRUE(contains(KernelStudy(alone).obstacle(), "right behind what wrote their inputs"));
}

TEST(KernelStudy, GivesNoShareOfNominalWork) {
  ResultFile file = samples::algorithms();
  const Measurement winograd = samples::algorithm(
      {.backend = "onednn", .algorithm = "winograd", .implementation = "jit_wino_4x3:avx512_core"});
  file.measurements.push_back(winograd);
  const std::vector files{file, samples::memory()};
  const KernelStudy study(files);
  EXPECT_FALSE(study.share(winograd).has_value());
  const Document document = placed_kernels_document(*study.roofline(), study.placed(), {}, 0);
  EXPECT_TRUE(contains(document.lead, "Of 1 more it is not known.")) << document.lead;
  EXPECT_TRUE(contains(document.tables.back().notes.back(), "nominal"));
  bool found = false;
  const auto json = nlohmann::json::parse(document.json());
  for (const auto& kernel : json.at("kernels")) {
    const bool nominal = kernel.at("backend") == "onednn" && kernel.at("algorithm") != "direct";
    found = found || nominal;
    EXPECT_EQ(kernel.at("nominal"), nominal);
    EXPECT_EQ(kernel.at("share_of_roofline").is_null(), nominal);
    EXPECT_EQ(kernel.at("bound_by").is_null(), nominal);
  }
  EXPECT_TRUE(found);
}

TEST(PlacedDocument, SaysHowManyNoCeilingBounds) {
  const std::vector files{samples::algorithms(), samples::memory()};
  const KernelStudy study(files);
  const auto notes = [&study](int unbounded) {
    return placed_kernels_document(*study.roofline(), study.placed(), {}, unbounded)
        .tables.back()
        .notes;
  };
  EXPECT_TRUE(contains(notes(3).back(), "3 measured convolutions left out")) << notes(3).back();
  EXPECT_EQ(notes(0).size() + 1, notes(3).size());
}

}  // namespace
}  // namespace dlscale::report
