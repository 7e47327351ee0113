#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "model/roofline/fit/kernel_fit.hpp"
#include "model/roofline/fit/split.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model {
namespace {

std::string conv(int c, int hw, int k, int r) {
  return "convolution c" + std::to_string(c) + " h" + std::to_string(hw) + " w" +
         std::to_string(hw) + " k" + std::to_string(k) + " r" + std::to_string(r) + " s" +
         std::to_string(r) + " stride1 pad" + std::to_string(r / 2) + " groups1";
}

TEST(Split, IsFixedForEver) {
  EXPECT_EQ(half_of(conv(64, 56, 64, 3)), half_of(conv(64, 56, 64, 3)));
  // As computed apart from this program, in Python.
  EXPECT_EQ(fold_of("", 10), 2);
  EXPECT_EQ(fold_of("convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1", 10), 1);
  EXPECT_EQ(fold_of("convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1", 10, 1), 3);
}

TEST(Split, PutsAShapeOnOneSideWhateverSurroundsIt) {
  for (const int channels : {16, 32, 48, 64, 80, 96, 112, 128}) {
    const std::string plain = conv(channels, 56, 64, 3);
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
      training += half_of(conv(c, hw, 64, 3)) == Half::training ? 1 : 0;
      ++folds[fold_of(conv(c, hw, 64, 3), 10, 1)];
    }
  }
  EXPECT_NEAR(training, all / 2.0, 3 * std::sqrt(all) / 2);
  EXPECT_EQ(folds.size(), 10);
}

/// With every question answered in full.
KernelJudgement judge(const std::vector<KernelSample>& samples,
                      JudgedHalves halves = JudgedHalves::judging) {
  ChoiceEvidence evidence;
  for (const KernelSample& sample : samples) evidence.complete.insert(question_of(sample.what));
  return judge_kernels(samples, evidence, halves);
}

Way our_way(convolution::Method method, Pass pass = Pass::forward) {
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

constexpr Caches true_caches{Bytes(1024.0 * 1024), Bytes(16.0 * 1024 * 1024)};

/// Measured times as the true parameters make them, with normal noise.
std::vector<KernelSample> samples(double noise, std::span<const convolution::Method> methods) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal(0, noise);
  std::vector<KernelSample> all;
  for (const int c : {16, 32, 64, 96, 128, 256, 512}) {
    for (const int hw : {7, 14, 28, 56}) {
      for (const int batch : {1, 4, 16}) {
        for (const auto method : methods) {
          const KernelCase what =
              make_case(our_way(method), conv(c, hw, c == 96 ? 40 : c, 3), batch, 16);
          const Seconds time = time_of(terms_of(what, true_caches), truth());
          all.push_back({what, (1 + normal(random)) * time, {}});
        }
      }
    }
  }
  return all;
}

constexpr std::array some_methods{convolution::Method::direct, convolution::Method::im2col,
                                  convolution::Method::winograd_f4, convolution::Method::fft_tiled};

TEST(KernelFit, FindsTheTimesOfAKnownMachineAgain) {
  const KernelJudgement judgement = judge(samples(0, some_methods), JudgedHalves::both);
  ASSERT_EQ(judgement.algorithms.size(), some_methods.size() + 1);
  for (const AlgorithmErrors& errors : judgement.algorithms) {
    EXPECT_LT(errors.median, 0.01) << errors.algorithm;
    EXPECT_LT(errors.p90, 0.05) << errors.algorithm;
    EXPECT_GT(errors.naive_median, errors.median) << errors.algorithm;
  }
  EXPECT_LT(judgement.choice.all.predicted.loss(), 0.01);
  EXPECT_GE(judgement.choice.all.predicted.loss(), 0);
  EXPECT_EQ(judgement.choice_of_both_halves.predicted.choices, 7 * 4 * 3);
  EXPECT_LT(judgement.choice_of_both_halves.predicted.loss(), 0.01);
}

TEST(KernelFit, HoldsNoisyTimesOfUnseenShapesInItsIntervals) {
  const KernelJudgement judgement = judge(samples(0.05, some_methods));
  const AlgorithmErrors& all = judgement.algorithms.back();
  EXPECT_EQ(all.algorithm, "all");
  EXPECT_LT(all.median, 0.06);
  EXPECT_GE(all.within, 0.88);
  EXPECT_LT(std::abs(all.bias), 0.03);
}

TEST(KernelFit, LetsNoProcessorAndGpuBeRivals) {
  auto all = samples(0.02, some_methods);
  const KernelJudgement alone = judge(all);
  for (const KernelSample& sample : samples(0.02, some_methods)) {
    if (sample.what.way.method != convolution::Method::winograd_f4) continue;
    KernelSample fast{sample};
    fast.what.way.backend = "cuda";
    fast.time = sample.time / 100;
    all.push_back(fast);
  }
  const KernelJudgement both = judge(all);
  // By Winograd alone there is no choice.
  EXPECT_EQ(both.choice.all.predicted.choices, alone.choice.all.predicted.choices);
  EXPECT_EQ(both.choice.all.predicted.least, alone.choice.all.predicted.least);
  for (std::size_t i = 0; i < both.samples.size(); ++i) {
    const JudgedSample& judged = both.samples[i];
    if (judged.sample.what.way.on_device()) continue;
    EXPECT_EQ(judged.prediction.naive, alone.samples.at(i).prediction.naive);
  }
}

TEST(KernelFit, SaysHowFarRepeatsOfAMeasurementDiffer) {
  auto all = samples(0, some_methods);
  EXPECT_FALSE(judge(all).algorithms.back().repeats.has_value());
  for (KernelSample& sample : all) {
    if (sample.what.way.method != convolution::Method::im2col) continue;
    sample.repeats = {0.75 * sample.time, 1.25 * sample.time};
  }
  for (const AlgorithmErrors& errors : judge(all).algorithms) {
    const bool again = errors.algorithm == "native im2col" || errors.algorithm == "all";
    EXPECT_EQ(errors.repeats.has_value(), again) << errors.algorithm;
    EXPECT_DOUBLE_EQ(errors.repeats.value_or(0), again ? 0.25 : 0);
  }
}

TEST(KernelFit, JudgesEachNumberOfThreadsApart) {
  auto all = samples(0, some_methods);
  for (const KernelSample& sample : samples(0, std::array{convolution::Method::im2col})) {
    KernelSample wide{sample};
    wide.what.way.threads = 2;
    wide.time = sample.time / 2;
    all.push_back(wide);
  }
  std::vector<int> threads;
  for (const AlgorithmErrors& errors : judge(all).algorithms) {
    if (errors.algorithm == "native im2col") threads.push_back(errors.threads);
    if (errors.algorithm == "all") {
      EXPECT_EQ(errors.threads, 0);
    }
  }
  EXPECT_EQ(threads, (std::vector<int>{1, 2}));
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
          if (kin ? !with_kin : half_of(conv(c, hw, c, 3)) == Half::training && ++count % 4 != 0) {
            continue;
          }
          const KernelCase what =
              make_case(our_way(convolution::Method::winograd_f4, pass), conv(c, hw, c, 3), 4, 16);
          const Seconds time = time_of(terms_of(what, true_caches), truth());
          const bool judged = half_of(what.kernel) == Half::judging;
          all.push_back({what, (1 + (judged ? 0 : normal(random))) * time, {}});
        }
      }
    }
    const KernelJudgement judgement = judge(all);
    std::vector<double> errors;
    for (const JudgedSample& judged : judgement.samples) {
      if (judged.sample.what.way.pass != Pass::backward_data) continue;
      errors.push_back(std::abs(judged.error()));
    }
    return median(errors);
  };
  EXPECT_LT(noisy(true), noisy(false));
}

TEST(KernelFit, IsNotBiasedByNoise) {
  // Residuals that are shares of measured times alone would draw predictions towards the low ones.
  std::vector<double> biases;
  for (const int seed : {1, 2, 3, 4, 5, 6}) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal(0, 0.3);
    auto all = samples(0, std::array{convolution::Method::im2col, convolution::Method::direct});
    for (KernelSample& sample : all) {
      const double factor = std::exp(normal(random));
      if (half_of(sample.what.kernel) == Half::training) sample.time = factor * sample.time;
    }
    biases.push_back(judge(all).algorithms.back().bias);
  }
  EXPECT_LT(std::abs(median(biases)), 0.04);
}

TEST(KernelFit, JudgesNoShapeItHasSeen) {
  const KernelJudgement judgement = judge(samples(0, some_methods));
  for (const JudgedSample& judged : judgement.samples) {
    EXPECT_EQ(half_of(judged.sample.what.kernel), Half::judging);
  }
}

TEST(KernelFit, LeavesOutWaysWithTooFewShapes) {
  auto all = samples(0, some_methods);
  std::erase_if(all, [](const KernelSample& sample) {
    return sample.what.way.method == convolution::Method::im2col &&
           sample.what.kernel != conv(64, 14, 64, 3);
  });
  std::vector<std::string> skipped;
  const KernelModels models = fit_kernels(all, skipped);
  EXPECT_EQ(skipped, std::vector<std::string>{"native im2col forward"});
  EXPECT_EQ(models.find(our_way(convolution::Method::im2col)), nullptr);
  EXPECT_NE(models.find(our_way(convolution::Method::direct)), nullptr);
}

const KernelModels& fitted() {
  static const KernelModels models = [] {
    std::vector<std::string> skipped;
    return fit_kernels(samples(0.02, some_methods), skipped);
  }();
  return models;
}

double direct_term(const std::string& kernel, Pass pass, Term term) {
  const KernelCase what = make_case(
      {.backend = "onednn", .method = convolution::Method::direct, .pass = pass}, kernel, 4, 16);
  return terms_of(what, true_caches).stages.front().compute.at(static_cast<std::size_t>(term));
}

TEST(KernelTerms, PadFewChannelsWhereTheyAreTheResult) {
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    const double few = direct_term(conv(3, 224, 64, 3), pass, Term::direct_flops);
    const double whole = direct_term(conv(16, 224, 64, 3), pass, Term::direct_flops);
    EXPECT_DOUBLE_EQ(whole / few, pass == Pass::backward_data ? 1 : 16.0 / 3) << pass_name(pass);
  }
}

TEST(KernelTerms, CountTheResultsOfEachPass) {
  const std::string kernel = "convolution c64 h28 w28 k32 r3 s3 stride2 pad1 groups1";
  // Once a vector of 16 channels that are summed; gradients of filters once a row of outputs.
  EXPECT_DOUBLE_EQ(direct_term(kernel, Pass::forward, Term::direct_result),
                   4.0 * 32 * 14 * 14 * (64 / 16.0));
  EXPECT_DOUBLE_EQ(direct_term(kernel, Pass::backward_data, Term::direct_result),
                   4.0 * 64 * 28 * 28 * (32 / 16.0));
  EXPECT_DOUBLE_EQ(direct_term(kernel, Pass::backward_filter, Term::direct_result),
                   4.0 * 14 * 64 * 32 * 9);
}

TEST(KernelModel, SaysWhenItExtrapolates) {
  const KernelModels& models = fitted();
  const KernelModel& model = *models.find(our_way(convolution::Method::winograd_f4));
  EXPECT_FALSE(model.predict(make_case(model.way, conv(128, 28, 128, 3), 8, 16)).extrapolated());
  const auto beyond = model.predict(make_case(model.way, conv(2048, 28, 64, 3), 4, 16)).beyond;
  EXPECT_EQ(beyond, std::vector<std::string>{"k"});
}

TEST(KernelModel, SaysWhenFilterOrStrideAreNew) {
  const KernelModels& models = fitted();  // 3 x 3, stride 1
  const KernelModel& im2col = *models.find(our_way(convolution::Method::im2col));
  const auto beyond = [&](const std::string& kernel) {
    return im2col.predict(make_case(im2col.way, kernel, 4, 16)).beyond;
  };
  EXPECT_EQ(beyond(conv(64, 28, 64, 3)), std::vector<std::string>());
  EXPECT_EQ(beyond(conv(64, 28, 64, 5)), std::vector<std::string>{"filter"});
  // With a stride, patches are gathered element by element.
  EXPECT_EQ(beyond("convolution c64 h28 w28 k64 r3 s3 stride2 pad1 groups1"),
            (std::vector<std::string>{"stride", "unseen_terms"}));
}

TEST(KernelModel, NeverGetsFasterWithMoreWork) {
  const KernelModels& models = fitted();
  for (const KernelModel& model : models.models) {
    for (const int c : {16, 64, 256}) {
      Seconds before;
      for (const int batch : {1, 2, 4, 8, 16, 32, 64}) {
        const auto prediction = model.predict(make_case(model.way, conv(c, 28, c, 3), batch, 16));
        EXPECT_GE(prediction.time.value.si(), before.si()) << model.way.algorithm() << " " << batch;
        EXPECT_LE(prediction.time.low, prediction.time.value);
        EXPECT_GE(prediction.time.high, prediction.time.value);
        before = prediction.time.value;
      }
    }
  }
}

TEST(Choose, NamesTheFastestThatFitsTheWorkspace) {
  const KernelModels& models = fitted();
  const std::string kernel = conv(128, 28, 128, 3);
  const auto free = choose(models, kernel, 4, Pass::forward, 1, "cold");
  ASSERT_EQ(free.size(), some_methods.size());
  for (std::size_t i = 1; i < free.size(); ++i) {
    EXPECT_LE(free[i - 1].prediction.time.value, free[i].prediction.time.value);
  }
  KernelModels with_direct = models;
  for (KernelModel& model : with_direct.models) {
    if (model.way.method == convolution::Method::direct) model.workspaces[{kernel, 4}] = Bytes();
  }
  const auto bound = choose(with_direct, kernel, 4, Pass::forward, 1, "cold", Bytes(0));
  ASSERT_EQ(bound.size(), free.size());
  EXPECT_EQ(bound.front().way.method, convolution::Method::direct);
  EXPECT_TRUE(bound.front().fits);
  EXPECT_FALSE(bound.back().fits);
  EXPECT_TRUE(choose(models, kernel, 4, Pass::backward_data, 1, "cold").empty());
  EXPECT_TRUE(choose(models, "relu c1 h1 w1", 4, Pass::forward, 1, "cold").empty());
}

bool names(const std::vector<Candidate>& found, convolution::Method method) {
  return std::ranges::any_of(
      found, [method](const Candidate& candidate) { return candidate.way.method == method; });
}

/// Samples of 1 x 1 filters by direct convolutions.
std::vector<KernelSample> pointwise_samples() {
  std::vector<KernelSample> all;
  for (const int c : {32, 64, 128, 256}) {
    const KernelCase what =
        make_case(our_way(convolution::Method::direct), conv(c, 28, c, 1), 4, 16);
    all.push_back({what, what.work.flops() / FlopsPerSecond(5e10), {}});
  }
  return all;
}

TEST(Choose, NamesNothingOfWhichAPartWasNeverMeasured) {
  // Direct convolutions of 1 x 1 filters run other kernels than those of 3 x 3: a fit to the latter
  // finds no time for them but the start, and they would always be the fastest.
  const std::string pointwise = conv(64, 28, 64, 1);
  const auto direct = our_way(convolution::Method::direct);
  const KernelModels& without = fitted();
  EXPECT_FALSE(without.find(direct)->tells(make_case(direct, pointwise, 4, 16)));
  EXPECT_TRUE(without.find(direct)->tells(make_case(direct, conv(64, 28, 64, 3), 4, 16)));
  const auto told = choose(without, pointwise, 4, Pass::forward, 1, "cold");
  EXPECT_TRUE(names(told, convolution::Method::im2col));
  EXPECT_FALSE(names(told, convolution::Method::direct));
  EXPECT_EQ(untold_ways(without, pointwise, 4, Pass::forward, 1, "cold"), std::vector<Way>{direct});
  const KernelModels read = kernel_models_from_json(kernel_models_json(without), "file");
  EXPECT_EQ(untold_ways(read, pointwise, 4, Pass::forward, 1, "cold"), std::vector<Way>{direct});

  auto all = samples(0.02, some_methods);
  const auto more = pointwise_samples();
  all.insert(all.end(), more.begin(), more.end());
  std::vector<std::string> skipped;
  const KernelModels with = fit_kernels(all, skipped);
  EXPECT_TRUE(
      names(choose(with, pointwise, 4, Pass::forward, 1, "cold"), convolution::Method::direct));
  EXPECT_TRUE(untold_ways(with, pointwise, 4, Pass::forward, 1, "cold").empty());
}

TEST(Choose, HoldsALibraryToTheWorkspaceThatWasMeasured) {
  auto all = samples(0.02, std::array{convolution::Method::im2col, convolution::Method::direct});
  for (KernelSample& sample : all) {
    if (sample.what.way.method != convolution::Method::direct) continue;
    sample.what.way.backend = "onednn";
    sample.workspace = Bytes(1e6 * sample.what.batch);
  }
  std::vector<std::string> skipped;
  const KernelModels known = fit_kernels(all, skipped);
  KernelModels unknown = known;  // older results do not say it
  for (KernelModel& model : unknown.models) model.workspaces.clear();
  const auto direct = [](const KernelModels& models, std::optional<Bytes> limit) {
    for (const Candidate& found :
         choose(models, conv(128, 28, 128, 3), 4, Pass::forward, 1, "cold", limit)) {
      if (found.way.method == convolution::Method::direct) return found;
    }
    throw ConfigError("it was not offered");
  };
  EXPECT_EQ(direct(known, {}).workspace.size, Bytes(4e6));
  EXPECT_FALSE(direct(known, Bytes(0)).fits);
  EXPECT_TRUE(direct(known, Bytes(4e6)).fits);
  EXPECT_FALSE(direct(unknown, Bytes(1e18)).fits);
  EXPECT_TRUE(direct(unknown, {}).fits);
}

TEST(Choose, CountsTheVectorsOfTheProcessorThatWasMeasured) {
  KernelModels models = fitted();
  for (KernelModel& model : models.models) model.vector_floats = 8;
  const KernelModels read = kernel_models_from_json(kernel_models_json(models), "file");
  const std::string kernel = conv(64, 28, 64, 3);
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
  const std::string kernel = "convolution c64 h28 w28 k64 r3 s3 stride2 pad1 groups1";
  const auto found = choose(fitted(), kernel, 4, Pass::forward, 1, "cold");
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found.front().way.method, convolution::Method::direct);
  // It is offered, but was never measured with a stride.
  EXPECT_EQ(untold_ways(fitted(), kernel, 4, Pass::forward, 1, "cold"),
            std::vector<Way>{our_way(convolution::Method::im2col)});
}

TEST(KernelFile, ReadsBackWhatItWrote) {
  KernelModels models = fitted();
  models.cpu = "a processor";
  models.sources = {"a.jsonl"};
  models.models.front().workspaces[{conv(64, 14, 64, 3), 2}] = Bytes(4096);
  const std::string text = kernel_models_json(models);
  const KernelModels read = kernel_models_from_json(text, "file");
  EXPECT_EQ(kernel_models_json(read), text);
  const KernelCase what = make_case(models.models.front().way, conv(64, 14, 64, 3), 2, 16);
  EXPECT_EQ(read.models.front().predict(what).time.value,
            models.models.front().predict(what).time.value);
  EXPECT_EQ(read.models.front().workspaces, models.models.front().workspaces);
  for (std::size_t i = 0; i < models.models.size(); ++i) {
    EXPECT_EQ(read.models[i].seen, models.models[i].seen);
    EXPECT_FALSE(read.models[i].seen.all());
  }
}

TEST(KernelFile, RefusesWhatItCannotTrust) {
  KernelModels models = fitted();
  models.models.front().workspaces[{conv(64, 14, 64, 3), 2}] = Bytes(4096);
  const std::string good = kernel_models_json(models);
  const auto refused = [&](const std::string& from, const std::string& to) {
    const std::string text = test::replaced(good, from, to);
    const std::string error =
        test::config_error([&] { (void)kernel_models_from_json(text, "kernels.json"); });
    test::expect_contains(error, "kernels.json");
    EXPECT_EQ(error.find("json.exception"), std::string::npos);
  };
  refused("dlscale.kernels", "dlscale.machine");
  refused("\"version\": 9", "\"version\": 8");
  refused("\"widening_per_octave\": ", "\"widening_per_octave\": -1");
  refused("\"fastest_s\": ", "\"fastest_s\": -");
  refused("\"workspaces\"", "\"workspace\"");
  refused("\"bytes\": ", "\"bytes\": -");
  refused("\"kernel\": \"convolution ", "\"kernel\": \"relu ");
  refused("\"threads\": 1", "\"threads\": 0");
  refused("\"threads\": 1", "\"threads\": 1.5");
  refused("\"pass\": \"forward\"", "\"pass\": \"sideways\"");
  refused("\"cache\": \"cold\"", "\"cache\": 1");
  refused("\"near_bytes\": ", "\"near_bytes\": -");
  refused("\"last_level_bytes\": ", "\"last_level_bytes\": -");
  refused("\"correction\"", "\"corrections\"");
  refused("_s_per_flop\": ", "_s_per_flop\": -");
  refused("_s_per_flop\": ", "_s_per_furlong\": ");
  refused("\"models\"", "\"model\"");
  EXPECT_THROW((void)kernel_models_from_json("", "f"), ConfigError);
  EXPECT_THROW((void)kernel_models_from_json("[]", "f"), ConfigError);
  EXPECT_THROW((void)kernel_models_from_json("{\"schema\": 3}", "f"), ConfigError);
}

}  // namespace
}  // namespace dlscale::model
