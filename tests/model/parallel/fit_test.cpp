#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "core/config/config_path.hpp"
#include "model/parallel/time/iteration.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/parallel/interval_of_others.hpp"
#include "model/published/parallel/leave_out.hpp"
#include "model/published/parallel/own_points.hpp"
#include "model/published/parallel/predictor.hpp"
#include "tests/core/support.hpp"

/// Fits of constants, and what leaving a set out leaves out.
namespace dlscale::model::parallel_time {
namespace {

using cases::ScalingCase;
using dlscale::test::expect_contains;
using dlscale::test::read_file;

const DeviceCatalogue& fit_sheets() {
  static const DeviceCatalogue all = DeviceCatalogue::load();
  return all;
}

/// Measured trainings.
struct Study {
  std::vector<ScalingCase> trainings = {};
  std::vector<cases::Outcome> outcomes = {};
};

void measure(Study& study, std::size_t i, double seconds) {
  cases::Outcome& outcome = study.outcomes.at(i);
  outcome.quality = "A";
  outcome.measured = cases::Measured{cases::CaseUnit::iteration_s, {seconds}, {}, {}};
}

/// With each micro-batch and with twice that.
std::vector<ScalingCase> asked_trainings() {
  std::vector<ScalingCase> all;
  for (const ScalingCase& one :
       cases::read_cases(DLSCALE_SOURCE_DIR "/tests/data/parallel_times.jsonl").trainings) {
    if (one.run.parallel.recompute == "unknown") continue;
    all.push_back(one);
    if (one.set == "x") all.back().network.name = "x";  // a fit without each would take long
    if (one.run.parallel.pp > 1 && one.global_batch > 8 * one.run.parallel.dp) {
      all.back().global_batch /= 8;  // fewer micro-batches, for the same
      all.back().batch_per_gpu /= 8;
    }
    ScalingCase larger = all.back();
    larger.id += "/larger";
    larger.global_batch *= 2;
    larger.batch_per_gpu *= 2;
    larger.run.parallel.micro_batch = 2 * one.run.parallel.micro_batch.value_or(1);
    all.push_back(larger);
  }
  return all;
}

Study study_of(const TimeConstants& truth) {
  Study study;
  ParallelTimeFile file = parallel_times();
  file.without.clear();
  file.constants = truth;
  for (const ScalingCase& one : asked_trainings()) {
    const cases::CasePrediction time = predict(file, fit_sheets(), std::array{one}).front();
    if (time.terms.back().time > Seconds()) continue;  // it waits for memory
    study.trainings.push_back(one);
    study.outcomes.emplace_back();
    measure(study, study.outcomes.size() - 1, time.values.front()->value);
  }
  return study;
}

ParallelFit fit_of(const Study& study, const ParallelTimeFile& from) {
  return fit_parallel(study.trainings, study.outcomes, fit_sheets(), from);
}

/// Enough trainings to see what a fit reads: without those of the doubled micro-batch.
const Study& small_study() {
  static const Study small = [] {
    Study kept;
    const Study whole = study_of(parallel_times().constants);
    for (std::size_t i = 0; i < whole.trainings.size(); ++i) {
      if (whole.trainings[i].id.ends_with("/larger")) continue;
      kept.trainings.push_back(whole.trainings[i]);
      kept.outcomes.push_back(whole.outcomes[i]);
    }
    return kept;
  }();
  return small;
}

const ParallelFit& small_fit() {
  static const ParallelFit fit = fit_of(small_study(), parallel_times());
  return fit;
}

/// With priors that a hundred trainings overrule.
ParallelTimeFile loose() {
  ParallelTimeFile file = parallel_times();
  for (auto& [key, constant] : file.fitted) constant.spread *= 10;
  return file;
}

TEST(ParallelFit, FindsConstantsThatTrainingsWereMadeBy) {
  TimeConstants truth = parallel_times().constants;
  truth.product *= 0.9;
  truth.elementwise *= 1.2;
  truth.launch *= 1.4;
  truth.stage_message *= 1.5;
  const Study study = study_of(truth);
  const ParallelFit fit = fit_of(study, loose());
  EXPECT_GE(fit.sets.size(), 4U);
  EXPECT_EQ(fit.not_covered, 0U);
  EXPECT_NEAR(fit.file.constants.product / truth.product, 1, 0.01);
  EXPECT_NEAR(fit.file.constants.elementwise / truth.elementwise, 1, 0.05);
  EXPECT_NEAR(fit.file.constants.launch / truth.launch, 1, 0.05);
  EXPECT_NEAR(fit.file.constants.stage_message / truth.stage_message, 1, 0.1);
  EXPECT_EQ(fit.file.constants.gap, parallel_times().fitted.find("gap")->second.prior);
  for (const auto& [key, constant] : fit.file.fitted) {
    EXPECT_LE(constant.low, constant.value) << key;
    EXPECT_GE(constant.high, constant.value) << key;
  }
}

bool are_equal(const TimeConstants& one, const TimeConstants& other) {
  return std::ranges::all_of(fitted_time_constants(), [&](const TimeConstantKey& key) {
    return one.*key.value == other.*key.value;
  });
}

/// A fit without a set does not change with what that set measured.
TEST(ParallelFit, DoesNotReadWhatItLeavesOut) {
  const std::string left = "vtrain_single";
  const Study& study = small_study();
  Study spoilt = study;
  for (std::size_t i = 0; i < study.trainings.size(); ++i) {
    if (study.trainings[i].set != left) continue;
    measure(spoilt, i, 7 * study.outcomes[i].measured->values.front());
  }
  const ParallelFit& honest = small_fit();
  const ParallelFit other = fit_of(spoilt, parallel_times());
  EXPECT_TRUE(are_equal(honest.file.without.at(left), other.file.without.at(left)));
  EXPECT_FALSE(are_equal(honest.file.constants, other.file.constants));
  const auto predicted = [&](const ParallelFit& fit, bool of_left) {
    std::vector<double> times;
    for (const auto& one : predict(fit.file, fit_sheets(), study.trainings)) {
      if (one.id.starts_with(left) == of_left) times.push_back(one.values.front()->value);
    }
    return times;
  };
  EXPECT_FALSE(predicted(honest, true).empty());
  EXPECT_EQ(predicted(honest, true), predicted(other, true));
  EXPECT_NE(predicted(honest, false), predicted(other, false));
}

/// The same for a network of a set.
TEST(ParallelFit, DoesNotReadANetworkThatItLeavesOut) {
  const Study& study = small_study();
  const std::string set = "nanotron_h100";
  const auto of_set = std::ranges::find(study.trainings, set, &ScalingCase::set);
  ASSERT_NE(of_set, study.trainings.end());
  const std::string network = of_set->network.name;
  Study spoilt = study;
  for (std::size_t i = 0; i < study.trainings.size(); ++i) {
    const ScalingCase& one = study.trainings[i];
    if (one.set != set || one.network.name != network) continue;
    measure(spoilt, i, study.outcomes[i].measured->values.front() / 5);
  }
  const ParallelFit& honest = small_fit();
  const ParallelFit other = fit_of(spoilt, parallel_times());
  const auto predicted = [&](const ParallelFit& fit) {
    std::vector<double> times;
    for (const auto& one : fit.other_networks) {
      const auto asked = std::ranges::find(study.trainings, one.id, &ScalingCase::id);
      if (asked->set == set && asked->network.name == network) {
        times.push_back(one.values.front()->value);
      }
    }
    return times;
  };
  EXPECT_FALSE(predicted(honest).empty());
  EXPECT_EQ(predicted(honest), predicted(other));
}

TEST(ParallelFit, LeavesOutLesserQualities) {
  Study study = small_study();
  const ParallelFit& all = small_fit();
  measure(study, 0, 1e3);
  study.outcomes.front().quality = "B";
  const ParallelFit some = fit_of(study, parallel_times());
  EXPECT_EQ(some.not_fitted, all.not_fitted + 1);
  EXPECT_LT(some.file.constants.product / all.file.constants.product, 1.01);
  EXPECT_GT(some.file.constants.product / all.file.constants.product, 0.99);
}

TEST(ParallelFit, NeedsTwoSets) {
  Study study = study_of(parallel_times().constants);
  for (ScalingCase& one : study.trainings) one.set = "one";
  try {
    fit_of(study, parallel_times());
    FAIL() << "one set is enough";
  } catch (const ConfigError& error) {
    expect_contains(error.what(), "of 1 sets (one), and at least 2 are needed");
  }
}

TEST(ParallelFit, IsWrittenAsItIsRead) {
  ParallelFit fit;
  fit.file = parallel_times();
  fit.file.fitted.find("launch")->second = {3.25e-5, 3e-5, 3.5e-5, 2e-5, 0.25};
  fit.file.without.clear();
  fit.file.without.emplace("a \"set\"", fit.file.constants);
  fit.file.without.at("a \"set\"").launch = 1.25e-5;
  fit.sets = {{"a \"set\"", 3}};
  const std::vector<std::string> names{"one.jsonl", "two.jsonl"};
  const std::string shipped = read_file(find_config("models", "parallel"));
  const std::string text = fitted_text(shipped, fit, names);
  const dlscale::test::TemporaryFolder folder;
  const ParallelTimeFile read = load_parallel_times(folder.write("parallel.yaml", text));
  EXPECT_EQ(read.constants.launch, 3.25e-5);
  EXPECT_EQ(read.fitted.find("launch")->second.low, 3e-5);
  EXPECT_EQ(read.constants_for("a \"set\"").launch, 1.25e-5);
  EXPECT_EQ(read.constants_for("another").launch, 3.25e-5);
  EXPECT_EQ(read.families.size(), parallel_times().families.size());
  expect_contains(text, "  # host time a launch, eager\n  launch: {value: 3.25e-05, ");
  expect_contains(text, "cases: [\"one.jsonl\", \"two.jsonl\"]\nsets:\n");
}

/// The shipped file is as the command writes it: its own constants change nothing.
TEST(ParallelFit, WritesTheShippedFile) {
  ParallelFit fit;
  fit.file = parallel_times();
  fit.sets = {{"megatron_seqsel_table5", 8},
              {"mosaic_llm_foundry", 139},
              {"nanotron_h100", 186},
              {"vtrain_single", 720}};
  const std::string shipped = read_file(find_config("models", "parallel"));
  const std::vector<std::string> names{"open_llm.jsonl", "open_hybrid_h100.jsonl"};
  EXPECT_EQ(fitted_text(shipped, fit, names), shipped);
}

TEST(ParallelTimeFile, RefusesPartsAndChancesAboveOne) {
  const std::string shipped = read_file(find_config("models", "parallel"));
  for (const std::string key : {"offloaded: 0.5", "unstated: {value: 0.001"}) {
    std::string text = shipped;
    const std::size_t at = text.find(key);
    ASSERT_NE(at, std::string::npos) << key;
    text.replace(at, key.size(), key.substr(0, key.rfind(' ')) + " 1.5");
    const dlscale::test::TemporaryFolder folder;
    EXPECT_THROW(load_parallel_times(folder.write("parallel.yaml", text)), ConfigError) << key;
  }
}

TEST(FullMemory, SlowsNanotronAlone) {
  const Study study = study_of(parallel_times().constants);
  const auto found =
      std::ranges::find(study.trainings, std::string("nanotron_h100"), &ScalingCase::set);
  ASSERT_NE(found, study.trainings.end());
  ScalingCase large = *found;
  large.run.parallel.micro_batch = 512;
  ParallelTimeFile never = parallel_times();
  for (Family& family : never.families) family.frees_blocks = false;
  const auto slow = predict(parallel_times(), fit_sheets(), std::array{large}).front();
  const auto fast = predict(never, fit_sheets(), std::array{large}).front();
  ASSERT_EQ(slow.status, cases::PredictionStatus::ok) << slow.reason;
  EXPECT_NEAR(slow.values.front()->value / fast.values.front()->value, 3, 1e-12);
  EXPECT_EQ(slow.values.front()->low, fast.values.front()->low);
  EXPECT_GT(*slow.values.front()->high, 2.5 * *fast.values.front()->high / 1.6);
  EXPECT_NEAR(slow.terms.back().time.si(), 2 * fast.values.front()->value, 1e-9);
}

/// Errors of one deviation less or more, but for a set whose errors are twice as large.
TEST(IntervalOfOthers, DoesNotReadTheSetThatItJudges) {
  const IntervalConstants& constants = parallel_times().interval;
  std::vector<ScalingCase> trainings;
  std::vector<cases::Outcome> outcomes;
  std::vector<cases::CasePrediction> predictions;
  for (int i = 0; i < 60; ++i) {
    ScalingCase& training = trainings.emplace_back();
    training.set = i < 40 ? (i % 2 == 0 ? "one" : "two") : "wide";
    const double error = (i % 4 < 2 ? -0.1 : 0.1) * (training.set == "wide" ? 2 : 1);
    outcomes.emplace_back();
    outcomes.back().quality = "A";
    outcomes.back().measured =
        cases::Measured{cases::CaseUnit::iteration_s, {std::exp(error)}, {}, {}};
    predictions.emplace_back();
    predictions.back().values = {
        cases::PredictedValue{1, std::exp(0.1 * constants.low), std::exp(0.1 * constants.high)}};
  }
  const auto found = intervals_of_others(constants, trainings, outcomes, predictions);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found.back().set, "wide");
  EXPECT_NEAR(found.back().low, -1, 1e-9);
  EXPECT_NEAR(found.back().high, 1, 1e-9);
  EXPECT_EQ(found.back().covered, 0);
  EXPECT_NEAR(found.front().high, 2, 1e-9);
  EXPECT_EQ(found.front().covered, 1);
  EXPECT_NEAR(found.front().width, std::exp(0.2) - std::exp(-0.2), 1e-9);
  predictions.front().terms = {{"allocator", Seconds(1)}};
  EXPECT_EQ(intervals_of_others(constants, trainings, outcomes, predictions).front().trainings,
            19U);
}

/// A kin that was measured slower slows its like, and no training is its own point.
TEST(OwnPoints, AreOfAnotherTraining) {
  Study study = study_of(parallel_times().constants);
  const OwnPoints exact =
      predict_by_own_points(parallel_times(), fit_sheets(), study.trainings, study.outcomes);
  ASSERT_FALSE(exact.cold.empty());
  ASSERT_EQ(exact.cold.size(), exact.given.size());
  ASSERT_EQ(exact.cold.size(), exact.same_share.size());
  const std::string asked = exact.cold.front().id;
  for (std::size_t i = 0; i < study.trainings.size(); ++i) {
    if (study.trainings[i].id == asked) measure(study, i, 1e3);
  }
  const OwnPoints spoilt =
      predict_by_own_points(parallel_times(), fit_sheets(), study.trainings, study.outcomes);
  EXPECT_EQ(spoilt.given.front(), exact.given.front());
  EXPECT_NE(spoilt.given, exact.given);
}

}  // namespace
}  // namespace dlscale::model::parallel_time
