#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "model/roofline/ceilings.hpp"
#include "model/roofline/kernel_fit.hpp"
#include "model/roofline/least_squares.hpp"
#include "model/roofline/split.hpp"

namespace dlscale::model {
namespace {

// ------------------------------------------------------------------------------------ ceilings

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
  EXPECT_DOUBLE_EQ(roofline.least_bytes(2).si(), 1e4);
}

TEST(HierarchicalRoofline, GivesSmallKernelsTheSpeedOfTheStartUpModel) {
  const HierarchicalRoofline roofline = three_levels();
  for (const double V : {1e2, 1e5, 1e8}) {
    const Seconds time = roofline.time_based({Flops(V), Bytes(0)}, Bytes(1));
    EXPECT_DOUBLE_EQ(V / time.si(), V / (1e-6 + V / 1e11));  // MODEL 5.5
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

TEST(Levels, AreThePlateausOfTheBandwidth) {
  std::vector<MeasuredBandwidth> measured;
  for (double size = 1e3; size < 1e9; size *= 2) {
    const double plateau = size <= 32e3 ? 200e9 : size <= 1e6 ? 80e9 : 10e9;
    const double start_up = size < 2e3 ? 0.5 : 1;  // short passes do not reach it
    measured.push_back({Bytes(size), BytesPerSecond(plateau * start_up)});
    measured.push_back({Bytes(size), BytesPerSecond(0.8 * plateau)});
  }
  const auto levels = levels_of(measured);
  ASSERT_EQ(levels.size(), 3);
  EXPECT_EQ(levels[0].capacity.si(), 32e3);
  EXPECT_EQ(levels[0].bandwidth.si(), 200e9);
  EXPECT_NEAR(levels[1].capacity.si(), 1e6, 0.5e6);
  EXPECT_EQ(levels[1].bandwidth.si(), 80e9);
  EXPECT_EQ(levels[2].bandwidth.si(), 10e9);
  EXPECT_THROW((void)levels_of({}), ConfigError);
}

TEST(Levels, EndWithMemoryHoweverFewPointsItHas) {
  const auto levels = levels_of({{Bytes(1e5), BytesPerSecond(2e11)},
                                 {Bytes(1e6), BytesPerSecond(1.9e11)},
                                 {Bytes(2e7), BytesPerSecond(6e10)},
                                 {Bytes(3e8), BytesPerSecond(3e10)},
                                 {Bytes(4e8), BytesPerSecond(2.9e10)}});
  ASSERT_EQ(levels.size(), 2);
  EXPECT_EQ(levels.back().bandwidth.si(), 3e10);
  EXPECT_EQ(levels.back().capacity.si(), 4e8);
}

// ------------------------------------------------------------------------------- least squares

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

// ---------------------------------------------------------------------------------- the split

std::string key(int c, int hw, int k, int r) {
  return "convolution c" + std::to_string(c) + " h" + std::to_string(hw) + " w" +
         std::to_string(hw) + " k" + std::to_string(k) + " r" + std::to_string(r) + " s" +
         std::to_string(r) + " stride1 pad" + std::to_string(r / 2) + " groups1";
}

TEST(Split, IsFixedForEver) {
  EXPECT_EQ(half_of(key(64, 56, 64, 3)), half_of(key(64, 56, 64, 3)));
  // As computed apart from this program, in Python.
  EXPECT_EQ(fold_of("", 10), 2);
  EXPECT_EQ(fold_of("convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1", 10), 1);
  EXPECT_EQ(fold_of("convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1", 10, 1), 3);
}

TEST(Split, PutsAShapeOnOneSideWhateverSurroundsIt) {
  for (const int channels : {16, 32, 48, 64, 80, 96, 112, 128}) {
    const std::string plain = key(channels, 56, 64, 3);
    for (const char* suffix : {" bias", " relu", " bias relu", " bias relu consumers2"}) {
      EXPECT_EQ(half_of(plain + suffix), half_of(plain)) << plain << suffix;
      EXPECT_EQ(fold_of(plain + suffix, 10, 1), fold_of(plain, 10, 1)) << plain << suffix;
    }
  }
}

TEST(Split, HalvesTheKernels) {
  int training = 0;
  int all = 0;
  std::map<int, int> folds;
  for (int c = 16; c <= 512; c += 16) {
    for (const int hw : {7, 14, 28, 56}) {
      ++all;
      training += half_of(key(c, hw, 64, 3)) == Half::training ? 1 : 0;
      ++folds[fold_of(key(c, hw, 64, 3), 10, 1)];
    }
  }
  EXPECT_NEAR(training, all / 2.0, 3 * std::sqrt(all) / 2);
  EXPECT_EQ(folds.size(), 10);
}

// ----------------------------------------------------------------------------------- the model

Way way(lowering::Method method, Pass pass = Pass::forward) {
  return {.backend = "native", .method = method, .pass = pass};
}

/// A machine with 100 GFLOP/s, 20 GB/s far and 50 GB/s near, on which thin products are slow.
Amounts truth() {
  Amounts parameters{};
  const auto set = [&](Term term, double value) {
    parameters.at(static_cast<std::size_t>(term)) = value;
  };
  set(Term::start, 5e-6);
  set(Term::multiply, 1e-11);
  set(Term::product_result, 4e-10);
  set(Term::product_call, 3e-7);
  set(Term::transform_bytes, 2e-11);
  set(Term::transform_memory, 5e-11);
  set(Term::copy_bytes, 5e-11);
  set(Term::direct_flops, 1.2e-11);
  set(Term::direct_call, 2e-8);
  return parameters;
}

constexpr Bytes near_caches{1024.0 * 1024};

/// Measured times as the true parameters make them, with normal noise.
std::vector<KernelSample> samples(double noise, std::span<const lowering::Method> methods) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, noise);
  std::vector<KernelSample> all;
  for (const int c : {16, 32, 64, 96, 128, 256, 512}) {
    for (const int hw : {7, 14, 28, 56}) {
      for (const int batch : {1, 4, 16}) {
        for (const auto method : methods) {
          const KernelCase what =
              make_case(way(method), key(c, hw, c == 96 ? 40 : c, 3), batch, 16);
          const Seconds time = time_of(terms_of(what, near_caches), truth());
          all.push_back({what, (1 + normal(random)) * time, {}});
        }
      }
    }
  }
  return all;
}

constexpr std::array some_methods{lowering::Method::direct, lowering::Method::im2col,
                                  lowering::Method::winograd_f4, lowering::Method::fft_tiled};

TEST(KernelFit, FindsTheTimesOfAKnownMachineAgain) {
  const KernelJudgement judgement = judge_kernels(samples(0, some_methods));
  ASSERT_EQ(judgement.algorithms.size(), some_methods.size() + 1);
  for (const AlgorithmErrors& errors : judgement.algorithms) {
    EXPECT_LT(errors.median, 0.01) << errors.algorithm;
    EXPECT_LT(errors.p90, 0.05) << errors.algorithm;
    EXPECT_GT(errors.naive_median, errors.median) << errors.algorithm;
  }
  EXPECT_LT(judgement.choice.loss(), 0.01);
  EXPECT_GE(judgement.choice.loss(), 0);
}

TEST(KernelFit, HoldsNoisyTimesOfUnseenShapesInItsIntervals) {
  const KernelJudgement judgement = judge_kernels(samples(0.05, some_methods));
  const AlgorithmErrors& all = judgement.algorithms.back();
  EXPECT_EQ(all.algorithm, "all");
  EXPECT_LT(all.median, 0.06);
  EXPECT_GE(all.within, 0.88);
  EXPECT_LT(std::abs(all.bias), 0.03);
}

TEST(KernelFit, LetsNoProcessorAndGpuBeRivals) {
  auto all = samples(0.02, some_methods);
  const KernelJudgement alone = judge_kernels(all);
  for (const KernelSample& sample : samples(0.02, some_methods)) {
    if (sample.what.way.method != lowering::Method::winograd_f4) continue;
    KernelSample fast{sample};
    fast.what.way.backend = "cuda";
    fast.time = sample.time / 100;
    all.push_back(fast);
  }
  const KernelJudgement both = judge_kernels(all);
  EXPECT_EQ(both.choice.choices, alone.choice.choices);  // by Winograd alone there is no choice
  EXPECT_EQ(both.choice.least, alone.choice.least);
  for (std::size_t i = 0; i < both.samples.size(); ++i) {
    const JudgedSample& judged = both.samples[i];
    if (judged.sample.what.way.on_device()) continue;
    EXPECT_EQ(judged.prediction.naive, alone.samples.at(i).prediction.naive);
  }
}

TEST(KernelFit, SaysHowFarRepeatsOfAMeasurementDiffer) {
  auto all = samples(0, some_methods);
  EXPECT_FALSE(judge_kernels(all).algorithms.back().repeats.has_value());
  for (KernelSample& sample : all) {
    if (sample.what.way.method != lowering::Method::im2col) continue;
    sample.measurements = 2;
    sample.repeat_spread = 0.25;
  }
  for (const AlgorithmErrors& errors : judge_kernels(all).algorithms) {
    const bool again = errors.algorithm == "native im2col" || errors.algorithm == "all";
    EXPECT_EQ(errors.repeats.has_value(), again) << errors.algorithm;
    EXPECT_DOUBLE_EQ(errors.repeats.value_or(0), again ? 0.25 : 0);
  }
}

TEST(KernelFit, LetsAWayOfFewShapesLearnFromItsKin) {
  // Every fourth shape of backward_data is measured: alone, too few for its parameters.
  const auto noisy = [](bool with_kin) {
    std::mt19937 random(3);
    std::normal_distribution<double> normal(0, 0.1);
    std::vector<KernelSample> all;
    int count = 0;
    for (const int c : {16, 32, 48, 64, 96, 128, 192, 256, 384, 512}) {
      for (const int hw : {7, 14, 28, 56}) {
        for (const Pass pass : {Pass::forward, Pass::backward_data}) {
          const bool kin = pass == Pass::forward;
          if (kin ? !with_kin : half_of(key(c, hw, c, 3)) == Half::training && ++count % 4 != 0) {
            continue;
          }
          const KernelCase what =
              make_case(way(lowering::Method::winograd_f4, pass), key(c, hw, c, 3), 4, 16);
          const Seconds time = time_of(terms_of(what, near_caches), truth());
          const bool judged = half_of(what.kernel) == Half::judging;
          all.push_back({what, (1 + (judged ? 0 : normal(random))) * time, {}});
        }
      }
    }
    const KernelJudgement judgement = judge_kernels(all);
    std::vector<double> errors;
    for (const JudgedSample& judged : judgement.samples) {
      if (judged.sample.what.way.pass != Pass::backward_data) continue;
      errors.push_back(std::abs(judged.error()));
    }
    return median(errors);
  };
  EXPECT_LT(noisy(true), noisy(false));
}

TEST(KernelFit, JudgesNoShapeItHasSeen) {
  const KernelJudgement judgement = judge_kernels(samples(0, some_methods));
  for (const JudgedSample& judged : judgement.samples) {
    EXPECT_EQ(half_of(judged.sample.what.kernel), Half::judging);
  }
}

TEST(KernelFit, LeavesOutWaysWithTooFewShapes) {
  auto all = samples(0, some_methods);
  std::erase_if(all, [](const KernelSample& sample) {
    return sample.what.way.method == lowering::Method::im2col &&
           sample.what.kernel != key(64, 14, 64, 3);
  });
  std::vector<std::string> skipped;
  const KernelModels models = fit_kernels(all, skipped);
  EXPECT_EQ(skipped, std::vector<std::string>{"native im2col forward"});
  EXPECT_EQ(models.find(way(lowering::Method::im2col)), nullptr);
  EXPECT_NE(models.find(way(lowering::Method::direct)), nullptr);
}

KernelModels fitted() {
  static const KernelModels models = [] {
    std::vector<std::string> skipped;
    return fit_kernels(samples(0.02, some_methods), skipped);
  }();
  return models;
}

TEST(KernelModel, SaysWhenItExtrapolates) {
  const KernelModels models = fitted();
  const KernelModel& model = *models.find(way(lowering::Method::winograd_f4));
  EXPECT_FALSE(model.predict(make_case(model.way, key(128, 28, 128, 3), 8, 16)).extrapolated());
  const auto beyond = model.predict(make_case(model.way, key(2048, 28, 64, 3), 4, 16)).beyond;
  EXPECT_EQ(beyond, std::vector<std::string>{"k"});
}

TEST(KernelModel, NeverGetsFasterWithMoreWork) {
  const KernelModels models = fitted();
  for (const KernelModel& model : models.models) {
    for (const int c : {16, 64, 256}) {
      Seconds before;
      for (const int batch : {1, 2, 4, 8, 16, 32, 64}) {
        const auto prediction = model.predict(make_case(model.way, key(c, 28, c, 3), batch, 16));
        EXPECT_GE(prediction.time.value.si(), before.si()) << model.way.algorithm() << " " << batch;
        EXPECT_LE(prediction.time.low, prediction.time.value);
        EXPECT_GE(prediction.time.high, prediction.time.value);
        before = prediction.time.value;
      }
    }
  }
}

TEST(Choose, NamesTheFastestThatFitsTheWorkspace) {
  const KernelModels models = fitted();
  const std::string kernel = key(128, 28, 128, 3);
  const auto free = choose(models, kernel, 4, Pass::forward, 1, "cold");
  ASSERT_EQ(free.size(), some_methods.size());
  for (std::size_t i = 1; i < free.size(); ++i) {
    EXPECT_LE(free[i - 1].prediction.time.value, free[i].prediction.time.value);
  }
  const auto bound = choose(models, kernel, 4, Pass::forward, 1, "cold", Bytes(0));
  ASSERT_EQ(bound.size(), free.size());
  EXPECT_EQ(bound.front().way.method, lowering::Method::direct);
  EXPECT_TRUE(bound.front().fits);
  EXPECT_FALSE(bound.back().fits);
  EXPECT_TRUE(choose(models, kernel, 4, Pass::backward_data, 1, "cold").empty());
  EXPECT_TRUE(choose(models, "relu c1 h1 w1", 4, Pass::forward, 1, "cold").empty());
}

TEST(Choose, CountsTheVectorsOfTheProcessorThatWasMeasured) {
  KernelModels models = fitted();
  for (KernelModel& model : models.models) model.vector_floats = 8;
  const KernelModels read = kernel_models_from_json(kernel_models_json(models), "file");
  const std::string kernel = key(64, 28, 64, 3);
  bool differs = false;
  for (const Candidate& found : choose(read, kernel, 4, Pass::forward, 1, "cold")) {
    const KernelModel& model = *read.find(found.way);
    EXPECT_EQ(found.prediction.time.value,
              model.predict(make_case(found.way, kernel, 4, 8)).time.value);
    differs = differs || found.prediction.time.value !=
                             model.predict(make_case(found.way, kernel, 4, 16)).time.value;
  }
  EXPECT_TRUE(differs);
}

TEST(Choose, OffersNothingThatTheAlgorithmRefuses) {
  const auto found = choose(fitted(), "convolution c64 h28 w28 k64 r3 s3 stride2 pad1 groups1", 4,
                            Pass::forward, 1, "cold");
  ASSERT_EQ(found.size(), 2);
  for (const Candidate& candidate : found) {
    EXPECT_NE(candidate.way.method, lowering::Method::winograd_f4);
    EXPECT_NE(candidate.way.method, lowering::Method::fft_tiled);
  }
}

// ------------------------------------------------------------------------------------ the file

TEST(KernelFile, ReadsBackWhatItWrote) {
  KernelModels models = fitted();
  models.cpu = "a processor";
  models.sources = {"a.jsonl"};
  const std::string text = kernel_models_json(models);
  const KernelModels read = kernel_models_from_json(text, "file");
  EXPECT_EQ(kernel_models_json(read), text);
  const KernelCase what = make_case(models.models.front().way, key(64, 14, 64, 3), 2, 16);
  EXPECT_EQ(read.models.front().predict(what).time.value,
            models.models.front().predict(what).time.value);
}

TEST(KernelFile, RefusesWhatItCannotTrust) {
  const std::string good = kernel_models_json(fitted());
  const auto refused = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    try {
      (void)kernel_models_from_json(text, "kernels.json");
      ADD_FAILURE() << to << " was taken";
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string(error.what()).find("kernels.json"), std::string::npos);
      EXPECT_EQ(std::string(error.what()).find("json.exception"), std::string::npos);
    }
  };
  refused("dlscale.kernels", "dlscale.machine");
  refused("\"version\": 2", "\"version\": 1");
  refused("\"threads\": 1", "\"threads\": 0");
  refused("\"threads\": 1", "\"threads\": 1.5");
  refused("\"pass\": \"forward\"", "\"pass\": \"sideways\"");
  refused("\"cache\": \"cold\"", "\"cache\": 1");
  refused("\"near_bytes\": ", "\"near_bytes\": -");
  refused("_s_per_flop\": ", "_s_per_flop\": -");
  refused("_s_per_flop\": ", "_s_per_furlong\": ");
  refused("\"models\"", "\"model\"");
  EXPECT_THROW((void)kernel_models_from_json("", "f"), ConfigError);
  EXPECT_THROW((void)kernel_models_from_json("[]", "f"), ConfigError);
  EXPECT_THROW((void)kernel_models_from_json("{\"schema\": 3}", "f"), ConfigError);
}

}  // namespace
}  // namespace dlscale::model
