#include "model/published/scaling/fit/leave_out.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/published/scaling/predictor.hpp"
#include "tests/core/support.hpp"
#include "tests/model/scaling/synthetic_study.hpp"

namespace dlscale::model::scaling {
namespace {

using dlscale::test::config_error;
using dlscale::test::expect_contains;
using test::synthetic_study;
using test::SyntheticStudy;
using test::training;
using test::unlike_the_prior;

const FactSources& sources() {
  static const FactSources loaded = FactSources::load();
  return loaded;
}

/// Quick: what is tested is not how well the fits do.
FitOptions few_rounds() {
  FitOptions options;
  options.settings.rounds = 2;
  return options;
}

ScalingFit fitted(const SyntheticStudy& study, const FitOptions& options = few_rounds()) {
  return fit_scaling(study.trainings, study.outcomes, sources(), options);
}

SyntheticStudy small_study() {
  return synthetic_study(sources(), unlike_the_prior(), 3, {64}, 0.03);
}

/// Predicted samples a second by id.
std::map<std::string, cases::PredictedValue> predicted(const FittedScaling& model,
                                                       const SyntheticStudy& study) {
  std::map<std::string, cases::PredictedValue> values;
  for (const cases::CasePrediction& each : predict(model, sources(), study.trainings)) {
    values.emplace(each.id, each.values.at(0).value());
  }
  return values;
}

TEST(LeaveOut, NothingMeasuredOfASetReachesItsOwnPredictions) {
  const SyntheticStudy study = small_study();
  SyntheticStudy changed = study;
  for (std::size_t i = 0; i < changed.trainings.size(); ++i) {
    if (changed.trainings[i].set == "set b") changed.outcomes[i].measured->values.at(0) *= 3;
  }
  const ScalingFit before = fitted(study);
  const ScalingFit after = fitted(changed);
  EXPECT_EQ(before.fitted.of("set b"), after.fitted.of("set b"));
  EXPECT_NE(before.fitted.of("set a"), after.fitted.of("set a"));
  EXPECT_NE(before.fitted.all, after.fitted.all);
  const auto first = predicted(before.fitted, study);
  const auto second = predicted(after.fitted, study);
  for (const cases::ScalingCase& each : study.trainings) {
    const bool is_same = first.at(each.id) == second.at(each.id);
    EXPECT_EQ(is_same, each.set == "set b") << each.id;
  }
}

TEST(LeaveOut, TermsAreChosenWithoutTheSetThatTheyAreJudgedBy) {
  const SyntheticStudy study = small_study();
  SyntheticStudy changed = study;
  for (std::size_t i = 0; i < changed.trainings.size(); ++i) {
    if (changed.trainings[i].set == "set b") changed.outcomes[i].measured->values.at(0) *= 3;
  }
  FitOptions choosing = few_rounds();
  choosing.choose_terms = true;
  const ScalingFit before = fitted(study, choosing);
  const ScalingFit after = fitted(changed, choosing);
  EXPECT_EQ(before.fitted.of("set b"), after.fitted.of("set b"));
  EXPECT_NE(before.fitted.of("set a"), after.fitted.of("set a"));
  // Of these trainings none has a part in servers.
  const auto servers = static_cast<std::size_t>(Parameter::server_efficiency);
  EXPECT_EQ(before.fitted.all.parameters.values[servers], parameter_kinds()[servers].absent);
  EXPECT_NE(before.fitted, fitted(study).fitted);
}

TEST(LeaveOut, TheNumberOfThreadsChangesNothing) {
  const SyntheticStudy study = small_study();
  FitOptions one = few_rounds();
  one.threads = 1;
  FitOptions three = few_rounds();
  three.threads = 3;
  EXPECT_EQ(fitted(study, one).fitted, fitted(study, three).fitted);
}

TEST(LeaveOut, FitsToAllToAllButOneAndToAllButTwo) {
  const SyntheticStudy study = small_study();
  std::vector<std::size_t> done;
  std::size_t all = 0;
  FitOptions options = few_rounds();
  options.settings.rounds = 1;
  options.progress = [&](std::size_t of_these, std::size_t of_all) {
    done.push_back(of_these);
    all = of_all;
  };
  const ScalingFit made = fitted(study, options);
  EXPECT_EQ(all, 7U);  // of three sets: 1 + 3 + 3
  EXPECT_EQ(done, (std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(made.fitted.without.size(), 3U);
  EXPECT_EQ(made.sets,
            (std::map<std::string, std::size_t>{{"set a", 10}, {"set b", 10}, {"set c", 10}}));
}

TEST(LeaveOut, WhatCannotBeFittedToIsCountedAndChangesNothing) {
  const SyntheticStudy study = small_study();
  SyntheticStudy more = study;
  const cases::ScalingCase asked = training(0, 1024, cases::Overlap::bucketed);
  more.trainings.push_back(asked);
  more.outcomes.emplace_back();
  cases::ScalingCase split = training(1, 8, cases::Overlap::bucketed);
  split.run.parallel.dp = 4;
  split.run.parallel.tp = 2;
  more.add(split, 1, 1);
  const ScalingFit made = fitted(more);
  EXPECT_EQ(made.not_measured, 1U);
  EXPECT_EQ(made.not_covered, 1U);
  EXPECT_EQ(made.fitted, fitted(study).fitted);
}

TEST(LeaveOut, TheDomainOfAFitIsOfWhatItSaw) {
  SyntheticStudy study = small_study();
  study.add(training(0, 64, cases::Overlap::none, 16), 0.1, 0.1);
  FitOptions options = few_rounds();
  options.settings.rounds = 1;
  const FittedScaling made = fitted(study, options).fitted;
  const auto range = [](double least, double most) {
    return std::optional(FittedRange{least, most});
  };
  const std::set<std::string> frameworks{"PyTorch DistributedDataParallel"};
  EXPECT_EQ(made.all.domain,
            (FitDomain{64,
                       1,
                       0.25,
                       1,
                       {range(15.75e9, 15.75e9), range(150e9, 150e9), range(1.25e9, 1.25e9),
                        range(12.5e9, 12.5e9), range(900e9, 900e9), range(2017, 2017)},
                       frameworks}));
  // Set a alone has TCP.
  EXPECT_EQ(made.of("set a").domain, (FitDomain{32,
                                                1,
                                                1,
                                                1,
                                                {range(15.75e9, 15.75e9),
                                                 range(150e9, 150e9),
                                                 {},
                                                 range(12.5e9, 12.5e9),
                                                 range(900e9, 900e9),
                                                 range(2017, 2017)},
                                                frameworks}));
  FitDomain without_nvlink = made.all.domain;  // which set b alone has
  without_nvlink.hardware[static_cast<std::size_t>(Hardware::nvlink)].reset();
  EXPECT_EQ(made.of("set b").domain, without_nvlink);
}

TEST(LeaveOut, TwoSetsAreTooFew) {
  const SyntheticStudy study = synthetic_study(sources(), Parameters::prior(), 2, {64}, 0);
  const std::string problem = config_error([&] { (void)fitted(study); });
  expect_contains(problem, "2 sets (set a, set b)");
  expect_contains(problem, "at least 3");
}

TEST(LeaveOut, AnExceptionOfAFitArrives) {
  FitOptions options = few_rounds();
  options.settings.rounds = 1;
  options.threads = 2;
  options.progress = [](std::size_t, std::size_t) { throw std::runtime_error("enough"); };
  EXPECT_THROW((void)fitted(small_study(), options), std::runtime_error);
}

/// Median of |ln (time / true time)| over all trainings.
double median_error(const SyntheticStudy& study, const Parameters& parameters) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < study.trainings.size(); ++i) {
    const ScalingModel model(training_facts(study.trainings[i], sources()));
    errors.push_back(std::abs(std::log(model.time(parameters).total.si() / study.true_times[i])));
  }
  std::ranges::sort(errors);
  return errors[errors.size() / 2];
}

TEST(LeaveOut, FindsKnownConstantsAgainAndIntervalsHoldNineOfTen) {
  const SyntheticStudy study =
      synthetic_study(sources(), unlike_the_prior(), 4, {64, 48, 32}, 0.03);
  FitOptions options;
  options.settings.rounds = 8;
  const ScalingFit made = fitted(study, options);
  EXPECT_LT(median_error(study, made.fitted.all.parameters),
            0.5 * median_error(study, Parameters::prior()));

  const auto values = predicted(made.fitted, study);
  std::size_t covered = 0;
  for (std::size_t i = 0; i < study.trainings.size(); ++i) {
    const cases::ScalingCase& each = study.trainings[i];
    const cases::Measured& measured = *study.outcomes[i].measured;
    const double throughput = measured.unit == cases::CaseUnit::samples_per_s
                                  ? measured.values.at(0)
                                  : each.global_batch / measured.values.at(0);
    const cases::PredictedValue& value = values.at(each.id);
    if (*value.low <= throughput && throughput <= *value.high) ++covered;
  }
  const double coverage =
      static_cast<double>(covered) / static_cast<double>(study.trainings.size());
  EXPECT_GE(coverage, 0.80);
  EXPECT_LE(coverage, 0.98);
}

}  // namespace
}  // namespace dlscale::model::scaling
