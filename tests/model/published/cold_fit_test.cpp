#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/config/config_path.hpp"
#include "model/published/cold/interval.hpp"
#include "model/published/cold/leave_out.hpp"
#include "model/published/cold/predictor.hpp"
#include "model/published/cold/step.hpp"
#include "tests/core/support.hpp"
#include "tests/model/published/cold_case.hpp"

namespace dlscale::model::cold {
namespace {

using cases::ScalingCase;
using dlscale::test::expect_contains;
using test::cold_case;

const scaling::FactSources& fit_sources() {
  static const scaling::FactSources loaded = scaling::FactSources::load();
  return loaded;
}

const sheet::KernelFile& shipped() {
  static const sheet::KernelFile file = sheet::load_kernel_file(find_config("models", "kernels"));
  return file;
}

/// Trainings of three sets on GPUs of three architectures, as long as `truth` says.
struct ColdStudy {
  std::vector<ScalingCase> trainings = {};
  std::vector<cases::Outcome> outcomes = {};
};

ColdStudy study_of(const sheet::KernelConstants& truth) {
  constexpr std::array gpus{"K80 (one of two dies)", "V100-SXM2-16GB", "A100-SXM4-40GB"};
  constexpr std::array<std::pair<const char*, std::int64_t>, 2> networks{
      {{"AlexNet", 61'100'840}, {"VGG-16", 138'357'544}}};
  ColdStudy study;
  NetworkFiles files;
  for (const std::string set : {"a", "b", "c"}) {
    for (const char* gpu : gpus) {
      for (const auto& [network, parameters] : networks) {
        ScalingCase one = cold_case();
        one.set = set;
        one.network.name = network;
        one.network.parameters = parameters;
        one.cluster.gpu = gpu;
        one.batch_per_gpu = one.global_batch = set == "a" ? 16 : set == "b" ? 32 : 64;
        one.id = set + "/" + gpu + network;
        auto made = cold_training(one, fit_sources(), files);
        const Seconds time =
            OneGpuTimes(std::get<ColdTraining>(std::move(made))).step(truth).total();
        cases::Outcome outcome;
        outcome.measured = cases::Measured{cases::CaseUnit::iteration_s, {time.si()}, {}, {}};
        study.trainings.push_back(one);
        study.outcomes.push_back(outcome);
      }
    }
  }
  return study;
}

TEST(ColdFit, FindsConstantsThatTrainingsWereMadeBy) {
  sheet::KernelConstants truth = shipped().constants;
  truth.efficiency *= 0.9;
  truth.memory_efficiency *= 0.9;
  const ColdStudy study = study_of(truth);
  sheet::KernelFile loose = shipped();  // with priors that 18 trainings overrule
  for (auto& [key, constant] : loose.fitted) constant.spread *= 5;
  const ColdFit fit = fit_cold(study.trainings, study.outcomes, fit_sources(), loose);
  EXPECT_EQ(fit.sets.size(), 3);
  EXPECT_EQ(fit.file.without.size(), 3);
  NetworkFiles files;
  for (std::size_t i = 0; i < study.trainings.size(); ++i) {
    auto made = cold_training(study.trainings[i], fit_sources(), files);
    OneGpuTimes times(std::get<ColdTraining>(std::move(made)));
    const double measured = study.outcomes[i].measured->values.at(0);
    for (const sheet::KernelConstants* found :
         {&fit.file.constants, &fit.file.without.at(study.trainings[i].set)}) {
      EXPECT_NEAR(times.step(*found).total().si() / measured, 1, 0.02) << study.trainings[i].id;
    }
  }
  EXPECT_EQ(fit.other_gpus.size(), study.trainings.size());
  const FittedConstant& e = fit.file.fitted.at("e");
  EXPECT_LT(e.low, e.value);
  EXPECT_LT(e.value, e.high);
}

TEST(ColdFit, IsWrittenAsItIsRead) {
  const ColdStudy study = study_of(shipped().constants);
  ColdFit fit;
  fit.file = shipped();
  fit.file.constants.efficiency = 0.8125;
  fit.file.fitted.at("e") = {0.8125, 0.75, 0.875, 0.9, 0.05};
  fit.file.constants.interval_low = -1.5;
  fit.sets = {{"a \"set\"", 3}};
  fit.file.without = {{"a \"set\"", fit.file.constants}};
  fit.file.without.at("a \"set\"").efficiency = 0.75;
  const dlscale::test::TemporaryFolder folder;
  const std::string text =
      fitted_text(dlscale::test::read_file(find_config("models", "kernels")), fit, "cases.jsonl");
  const sheet::KernelFile read = sheet::load_kernel_file(folder.write("kernels.yaml", text));
  EXPECT_EQ(read.constants.efficiency, 0.8125);
  EXPECT_EQ(read.constants.interval_low, -1.5);
  EXPECT_EQ(read.without.at("a \"set\"").efficiency, 0.75);
  EXPECT_EQ(read.kernels.size(), shipped().kernels.size());
}

TEST(ColdFit, NeedsThreeSets) {
  ColdStudy study = study_of(shipped().constants);
  for (ScalingCase& one : study.trainings) one.set = one.set == "a" ? "a" : "b";
  try {
    fit_cold(study.trainings, study.outcomes, fit_sources(), shipped());
    FAIL() << "two sets are enough";
  } catch (const ConfigError& error) {
    expect_contains(error.what(), "of 2 sets (a, b), and at least 3 are needed");
  }
}

TEST(ColdFit, PredictsASetByTheFitWithoutIt) {
  const scaling::ScalingFile scaling = scaling::load_scaling(scaling::usual_scaling);
  sheet::KernelFile kernels = shipped();
  kernels.without = {{"made", kernels.constants}};
  kernels.without.at("made").efficiency /= 2;
  ScalingCase other = cold_case();
  other.set = "other";
  const auto predicted =
      predict(scaling.fitted, kernels, fit_sources(), std::vector{cold_case(), other});
  EXPECT_LT(predicted.at(0).values.at(0)->value, 0.7 * predicted.at(1).values.at(0)->value);
}

TEST(ColdInterval, HoldsNineOfTenErrorsAndItsMargin) {
  std::mt19937 random(3);
  std::exponential_distribution<double> size(1);
  std::vector<ColdError> errors;
  for (int i = 0; i < 4000; ++i) {
    const bool half = i % 2 == 0;
    const double scale = half ? 0.1 : 0.05;
    const double sign = i % 4 < 2 ? 1 : -1;
    errors.push_back({sign * scale * size(random), 1, half, i % 3 == 0, i % 5 == 0});
  }
  sheet::KernelConstants found;
  fit_interval(errors, found);
  EXPECT_NEAR(found.interval_half, std::log(2), 0.1);
  EXPECT_NEAR(std::exp(found.interval_always), 0.05, 0.005);
  // 5 % of errors on each side are beyond ln 10 scales.
  EXPECT_NEAR(found.interval_low, -std::log(10), 0.25);
  EXPECT_NEAR(found.interval_high, std::log(10), 0.25);

  // Seven sources say less of one more: t(0.95, 6) = 1.943 for 1.645, and its own deviation.
  constexpr double sources = 7;
  for (ColdError& error : errors) error.weight = sources / 4000;
  sheet::KernelConstants of_few;
  fit_interval(errors, of_few);
  const double wider = 1.943 / 1.645 * std::sqrt(1 + 1 / sources);
  EXPECT_NEAR(of_few.interval_low / found.interval_low, wider, 0.01);
  EXPECT_NEAR(of_few.interval_high / found.interval_high, wider, 0.01);
}

}  // namespace
}  // namespace dlscale::model::cold
