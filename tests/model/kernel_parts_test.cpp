#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/convolution_shape.hpp"
#include "model/roofline/fit/kernel_fit.hpp"
#include "model/roofline/fit/split.hpp"
#include "model/roofline/kernels/ceilings.hpp"
#include "model/roofline/kernels/kernel_model.hpp"
#include "model/roofline/kernels/kernel_terms.hpp"
#include "model/roofline/kernels/least_squares.hpp"
#include "model/roofline/kernels/term_fit.hpp"

namespace dlscale::model {
namespace {

TEST(NonNegativeLeastSquares, FindsWhatIsThere) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> amounts(0, 1);
  Equations equations{.unknowns = 4, .coefficients = {}, .values = {}};
  const std::vector<double> truth{3, 0, 1e-3, 20};
  for (int i = 0; i < 30; ++i) {
    std::vector<double> row;
    double value = 0;
    for (const double x : truth) {
      row.push_back(amounts(random));
      value += x * row.back();
    }
    equations.add(row, value);
  }
  const auto found = non_negative_least_squares(equations, std::vector<double>(30, 1.0));
  for (std::size_t j = 0; j < truth.size(); ++j) EXPECT_NEAR(found[j], truth[j], 1e-6);
}

TEST(NonNegativeLeastSquares, NeverGoesBelowZeroAndCopesWithColumnsAlike) {
  Equations equations{.unknowns = 3, .coefficients = {}, .values = {}};
  for (int i = 1; i <= 5; ++i) equations.add(std::vector<double>{1.0 * i, 1.0 * i, 0}, -1.0 * i);
  EXPECT_EQ(non_negative_least_squares(equations, std::vector<double>(5, 1.0)),
            (std::vector<double>{0, 0, 0}));
  for (double& value : equations.values) value = -2 * value;
  const auto found = non_negative_least_squares(equations, std::vector<double>(5, 1.0));
  EXPECT_NEAR(found[0] + found[1], 2, 1e-6);
  EXPECT_EQ(found[2], 0);
}

TEST(NonNegativeLeastSquares, IsNotBentByAFewWildValues) {
  Equations equations{.unknowns = 1, .coefficients = {}, .values = {}};
  for (int i = 0; i < 20; ++i) equations.add(std::vector<double>{1}, i < 3 ? 50 : 2);
  EXPECT_NEAR(robust_non_negative(equations, std::vector<double>(20, 1.0)).front(), 2, 0.01);
}

TEST(NonNegativeLeastSquares, HeedsRowsByTheirImportance) {
  Equations equations{.unknowns = 1, .coefficients = {}, .values = {}};
  for (const double value : {1.0, 1.0, 4.0}) equations.add(std::vector<double>{1}, value);
  EXPECT_NEAR(non_negative_least_squares(equations, std::vector<double>{1, 1, 0.5}).front(), 1.6,
              1e-9);
  EXPECT_NEAR(robust_non_negative(equations, std::vector<double>{1, 1, 0}).front(), 1, 1e-9);
}

std::string workspace_key(int c, int hw, int k) {
  return "convolution c" + std::to_string(c) + " h" + std::to_string(hw) + " w" +
         std::to_string(hw) + " k" + std::to_string(k) + " r3 s3 stride1 pad1 groups1";
}

KernelCase by_library(const std::string& kernel, int batch) {
  return make_case({.backend = "onednn", .method = convolution::Method::direct}, kernel, batch, 16);
}

Bytes tensors(const std::string& kernel, int batch) {
  return least_bytes(by_library(kernel, batch).shape);
}

TEST(Workspace, OfOurCodeIsWhatItDeclares) {
  const KernelCase what =
      make_case({.backend = "native", .method = convolution::Method::winograd_f4},
                workspace_key(64, 28, 64), 4, 16);
  const Workspace found = workspace_of(what, {{{what.kernel, 4}, Bytes(1)}});
  EXPECT_EQ(found.basis, WorkspaceBasis::declared);
  EXPECT_EQ(found.size, what.work.workspace);
}

TEST(Workspace, OfOthersIsWhatWasMeasured) {
  const std::string kernel = workspace_key(64, 28, 64);
  const Workspace found = workspace_of(by_library(kernel, 4), {{{kernel, 4}, Bytes(4096)}});
  EXPECT_EQ(found.basis, WorkspaceBasis::measured);
  EXPECT_EQ(found.size, Bytes(4096));
  EXPECT_TRUE(found.within(Bytes(4096)));
  EXPECT_FALSE(found.within(Bytes(4095)));
}

TEST(Workspace, OfAShapeThatWasNotMeasuredHasTheLargestShareOfItsTensors) {
  const std::string few = workspace_key(64, 28, 64);
  const std::string many = workspace_key(256, 14, 256);
  const MeasuredWorkspaces measured{{{few, 4}, 0.5 * tensors(few, 4)},
                                    {{many, 4}, 2 * tensors(many, 4)}};
  const std::string other = workspace_key(128, 28, 128);
  for (const int batch : {1, 4, 8}) {
    const Workspace found = workspace_of(by_library(other, batch), measured);
    EXPECT_EQ(found.basis, WorkspaceBasis::bounded);
    EXPECT_DOUBLE_EQ(found.size.si(), 2 * tensors(other, batch).si());
  }
  EXPECT_EQ(workspace_of(by_library(few, 8), measured).basis, WorkspaceBasis::bounded);
}

TEST(Workspace, ThatOnlyAFormulaGivesIsWithinNoLimit) {
  const Workspace found = workspace_of(by_library(workspace_key(64, 28, 64), 4), {});
  EXPECT_EQ(found.basis, WorkspaceBasis::formula);
  EXPECT_FALSE(found.within(Bytes(1e18)));
  EXPECT_TRUE(found.within({}));
}

// Which measured times a judgement of kernel models counts.

KernelSample sample(int channels, int size, int filter) {
  const auto text = [](int number) { return std::to_string(number); };
  const std::string key = "convolution c" + text(channels) + " h" + text(size) + " w" + text(size) +
                          " k" + text(channels) + " r" + text(filter) + " s" + text(filter) +
                          " stride1 pad" + text(filter / 2) + " groups1";
  const KernelCase what =
      make_case({.backend = "native", .method = convolution::Method::direct}, key, 4, 16);
  return {what, direct_flops(what.shape) / FlopsPerSecond(5e10), {}};
}

std::vector<KernelSample> of_three_by_three() {
  std::vector<KernelSample> all;
  for (const int channels : {16, 32, 48, 64, 96, 128, 256, 512}) {
    for (const int size : {7, 14, 28, 56}) all.push_back(sample(channels, size, 3));
  }
  return all;
}

TEST(KernelJudgement, CountsNoTimeThatTheFitDoesNotTell) {
  // Direct convolutions of 1 x 1 filters run other kernels than those of 3 x 3; all of the former
  // are judged, so that the fit has seen none.
  auto all = of_three_by_three();
  const KernelJudgement alone = judge_kernels(all, {});
  EXPECT_TRUE(alone.not_told.empty());
  int pointwise = 0;
  for (int channels = 16; channels <= 512; channels += 16) {
    const KernelSample found = sample(channels, 28, 1);
    if (half_of(found.what.kernel) != Half::judging) continue;
    ++pointwise;
    all.push_back(found);
  }
  ASSERT_GT(pointwise, 0);
  const KernelJudgement judgement = judge_kernels(all, {});
  EXPECT_EQ(judgement.not_told, (std::map<std::string, int>{{"native direct", pointwise}}));
  EXPECT_EQ(judgement.samples.size(), alone.samples.size());
  EXPECT_EQ(judgement.algorithms.back().samples, alone.algorithms.back().samples);
  EXPECT_EQ(judgement.algorithms.back().p90, alone.algorithms.back().p90);
}

TEST(KernelJudgement, IsOfEveryShapeOnceOverBothHalves) {
  const auto all = of_three_by_three();
  EXPECT_TRUE(judge_kernels(all, {}).algorithms_of_both_halves.empty());
  const KernelJudgement judgement = judge_kernels(all, {}, JudgedHalves::both);
  ASSERT_EQ(judgement.algorithms_of_both_halves.size(), 2);
  const AlgorithmErrors& both = judgement.algorithms_of_both_halves.back();
  EXPECT_EQ(both.algorithm, "all");
  EXPECT_EQ(both.kernels, 8 * 4);
  EXPECT_EQ(both.samples, 8 * 4);
  EXPECT_GT(both.samples, judgement.algorithms.back().samples);
  EXPECT_LT(both.median, 0.01);
}

// Scratch that the last-level cache does not hold from one stage to the next.

std::string spilled_scratch_key(int channels, int size) {
  const auto text = [](int number) { return std::to_string(number); };
  return "convolution c" + text(channels) + " h" + text(size) + " w" + text(size) + " k" +
         text(channels) + " r3 s3 stride1 pad1 groups1";
}

KernelCase spilled_scratch_case_of(const std::string& backend, int channels, int size, int batch) {
  return make_case({.backend = backend, .method = convolution::Method::winograd_f4},
                   spilled_scratch_key(channels, size), batch, 16);
}

double spilled(const KernelCase& what, Bytes last) {
  return terms_of(what, {Bytes(1 << 20), last}).always.at(static_cast<std::size_t>(Term::spilled));
}

TEST(SpilledScratch, IsHalfWhereTheWorkspaceIsAsLargeAsTheCache) {
  const KernelCase what = spilled_scratch_case_of("native", 128, 56, 4);
  const Bytes workspace = what.work.workspace;
  Bytes scratch;
  for (const convolution::Stage& stage : what.work.stages) scratch += stage.scratch;
  EXPECT_DOUBLE_EQ(spilled(what, workspace), scratch.si() / 2);
  EXPECT_LT(spilled(what, 2 * workspace), 0.1 * scratch.si());
  EXPECT_GT(spilled(what, 0.5 * workspace), 0.9 * scratch.si());
}

TEST(SpilledScratch, IsNoneWhereALibraryDoesNotTellItsBlocks) {
  EXPECT_EQ(spilled(spilled_scratch_case_of("onednn", 128, 56, 4), Bytes(1 << 20)), 0);
}

/// A machine of 100 GFLOP/s on which what is lost costs 0.2 ns a byte.
Amounts spilled_scratch_truth() {
  Amounts parameters{};
  const auto set = [&](Term term, double value) {
    parameters.at(static_cast<std::size_t>(term)) = value;
  };
  set(Term::start, 5e-6);
  set(Term::multiply, 1e-11);
  set(Term::transform_bytes, 2e-11);
  set(Term::spilled, 2e-10);
  return parameters;
}

std::vector<KernelSample> spilled_scratch_samples(const Caches& caches) {
  std::vector<KernelSample> all;
  for (const int channels : {32, 48, 64, 96, 128, 192, 256, 384, 512}) {
    for (const int size : {7, 14, 28, 56, 112}) {
      const KernelCase what = spilled_scratch_case_of("native", channels, size, 4);
      all.push_back({what, time_of(terms_of(what, caches), spilled_scratch_truth()), {}});
    }
  }
  return all;
}

TEST(SpilledScratch, IsFoundAgainWithTheSizeOfTheCache) {
  for (const double mebibytes : {8.0, 12.0, 24.0}) {
    const Bytes last(mebibytes * 1024 * 1024);
    const auto measured = spilled_scratch_samples({Bytes(1 << 20), last});
    FitEvidence evidence;
    for (const KernelSample& sample : measured) evidence.own.push_back(&sample);
    const TermFit fit = fit_terms(evidence);
    EXPECT_EQ(fit.caches.last, last);
    EXPECT_NEAR(fit.parameters.at(static_cast<std::size_t>(Term::spilled)), 2e-10, 1e-11);
  }
}

TEST(SpilledScratch, IsPredictedAtShapesThatWereNotFitted) {
  ChoiceEvidence evidence;
  const auto all = spilled_scratch_samples({Bytes(1 << 20), Bytes(12.0 * 1024 * 1024)});
  const KernelJudgement judgement = judge_kernels(all, evidence, JudgedHalves::both);
  EXPECT_LT(judgement.algorithms.back().p90, 0.02);
  EXPECT_LT(judgement.algorithms_of_both_halves.back().p90, 0.02);
}

HierarchicalRoofline three_levels() {
  return {FlopsPerSecond(1e11),
          {{"L1", Bytes(32e3), BytesPerSecond(4e11)},
           {"L2", Bytes(1e6), BytesPerSecond(1e11)},
           {"DRAM", Bytes(1e10), BytesPerSecond(1e10)}},
          Seconds(1e-6)};
}

TEST(HierarchicalRoofline, IsBoundByTheSlowestLevel) {
  const HierarchicalRoofline roofline = three_levels();
  const std::vector<Bytes> traffic{Bytes(8e9), Bytes(1e9), Bytes(5e8)};
  EXPECT_DOUBLE_EQ(roofline.time(Flops(1e9), traffic).si(), 0.05);
  EXPECT_DOUBLE_EQ(roofline.time(Flops(1e10), traffic).si(), 0.1);
}

TEST(HierarchicalRoofline, OfTheCacheAwareKindHasARoofALevel) {
  const HierarchicalRoofline roofline = three_levels();
  EXPECT_DOUBLE_EQ(roofline.attainable(2, FlopsPerByte(0.5)).si(), 5e9);
  EXPECT_DOUBLE_EQ(roofline.attainable(1, FlopsPerByte(0.5)).si(), 5e10);
  EXPECT_DOUBLE_EQ(roofline.attainable(0, FlopsPerByte(0.5)).si(), 1e11);
}

TEST(HierarchicalRoofline, InTimeAddsTheLaunch) {
  const HierarchicalRoofline roofline = three_levels();
  EXPECT_EQ(roofline.level_of(Bytes(32e3)), 0);
  EXPECT_EQ(roofline.level_of(Bytes(33e3)), 1);
  EXPECT_EQ(roofline.level_of(Bytes(1e12)), 2);
  EXPECT_DOUBLE_EQ(roofline.time_based({Flops(1e3), Bytes(1e6)}, Bytes(1e6)).si(), 1.1e-5);
  EXPECT_DOUBLE_EQ(roofline.least_flops().si(), 1e5);
}

TEST(HierarchicalRoofline, GivesSmallKernelsTheSpeedOfTheStartUpModel) {
  const HierarchicalRoofline roofline = three_levels();
  for (const double V : {1e2, 1e5, 1e8}) {
    const Seconds time = roofline.time_based({Flops(V), Bytes(0)}, Bytes(1));
    EXPECT_DOUBLE_EQ(V / time.si(), V / (1e-6 + V / 1e11));
  }
}

TEST(HierarchicalRoofline, TellsFromWhereDataMayHaveCome) {
  const HierarchicalRoofline roofline = three_levels();
  const FlopsPerByte intensity(0.1);  // roofs of 40, 10 and 1 GFLOP/s
  EXPECT_EQ(roofline.farthest_source(FlopsPerSecond(1e9), intensity), 2);
  EXPECT_EQ(roofline.farthest_source(FlopsPerSecond(1.1e9), intensity), 1);
  EXPECT_EQ(roofline.farthest_source(FlopsPerSecond(20e9), intensity), 0);
  EXPECT_EQ(roofline.farthest_source(FlopsPerSecond(50e9), intensity), 0);
}

TEST(HierarchicalRoofline, HasTheEmpiricalPointsOfCheckC111) {
  // V100 at 1380 MHz in f64: 80 multiprocessors of 32 multiply-adds a cycle. Published beside a
  // bandwidth of 869 GB/s: 109 GFLOP/s at 0.125 operations a byte, 968 at 1.125, 6600 at 8.125.
  const HierarchicalRoofline v100(FlopsPerSecond(80 * 32 * 2 * 1.38e9),
                                  {{"memory", Bytes(16e9), BytesPerSecond(869e9)}});
  EXPECT_NEAR(v100.attainable(0, FlopsPerByte(0.125)).si(), 109e9, 0.01 * 109e9);
  EXPECT_NEAR(v100.attainable(0, FlopsPerByte(1.125)).si(), 968e9, 0.02 * 968e9);
  EXPECT_NEAR(v100.attainable(0, FlopsPerByte(8.125)).si(), 6600e9, 0.08 * 6600e9);
}

TEST(HierarchicalRoofline, SortsTheCeilingsBelowItsPeak) {
  const MemoryLevel level{"memory", Bytes(1e9), BytesPerSecond(1e10)};
  const FlopsPerSecond peak(1e11);
  const HierarchicalRoofline roofline(
      peak, {level}, {}, {{"narrow", FlopsPerSecond(2e10)}, {"wide", FlopsPerSecond(5e10)}});
  ASSERT_EQ(roofline.ceilings().size(), 2);
  EXPECT_EQ(roofline.ceilings().front().name, "wide");
  EXPECT_THROW(HierarchicalRoofline(peak, {level}, {}, {{"above", FlopsPerSecond(2e11)}}),
               ConfigError);
}

TEST(HierarchicalRoofline, RefusesLevelsOutOfOrder) {
  const MemoryLevel near{"near", Bytes(1e3), BytesPerSecond(1e9)};
  const MemoryLevel far{"far", Bytes(1e6), BytesPerSecond(2e9)};
  const FlopsPerSecond peak(1e9);
  EXPECT_THROW(HierarchicalRoofline(peak, {}), ConfigError);
  EXPECT_THROW(HierarchicalRoofline(peak, {near, far}), ConfigError);
  EXPECT_THROW(HierarchicalRoofline(peak, {far, near}), ConfigError);
  EXPECT_THROW(HierarchicalRoofline(FlopsPerSecond(0), {near}), ConfigError);
  EXPECT_THROW(HierarchicalRoofline(FlopsPerSecond(std::nan("")), {near}), ConfigError);
}

}  // namespace
}  // namespace dlscale::model
