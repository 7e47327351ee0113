// That what is measured is never a part of what a metric is called: the numbers of two runs of one
// configuration can be followed. Documents of other kinds are held to it beside their own tests.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report/comparison/comparison_table.hpp"
#include "report/comparison/side_by_side.hpp"
#include "report/prediction/plan_table.hpp"
#include "report/prediction/prediction_table.hpp"
#include "report/prediction/sweep_table.hpp"
#include "report/results/result_table.hpp"
#include "report/sections/summary.hpp"
#include "report/validation/validation_table.hpp"
#include "tests/report/records_declared.hpp"
#include "tests/report/samples.hpp"
#include "tests/report/series_of.hpp"

namespace dlscale::report {
namespace {

using samples::PhaseTimes;

constexpr PhaseTimes slower_phases{.io = 0.01, .h2d = 0.02, .forward = 0.31, .backward = 0.6};

/// A convolution on a device, with what was seen beside its times.
Measurement on_a_device(double seconds) {
  Measurement row = samples::timed("conv", {{"layer", "conv1"}}, {seconds, 1.1 * seconds});
  row.work = Work{Flops(2e9), Bytes(1e8)};
  row.max_relative_error = 1e-6 * seconds;
  const auto seen = [&](const char* name, const char* unit, double value) {
    row.series[name] = make_series(unit, {{value, value}});
  };
  seen("processor_clock", "MHz", 1000 + 100 * seconds);
  seen("power", "W", 300 + seconds);
  seen("temperature", "degC", 50 + seconds);
  seen("throttle_reasons", "1", seconds);
  return row;
}

TEST(Series, OfResultsAreThoseOfTheirAxes) {
  const auto document = [](const Measurement& row) {
    const std::vector files{samples::file(row.benchmark, {row})};
    Document results;
    results.records = result_records(files);
    results.json = results_json(files);
    return results;
  };
  expect_declared(document(on_a_device(1)));
  expect_same_series(document(on_a_device(1)), document(on_a_device(3)));
  Measurement training = samples::e2e({}, slower_phases);
  training.series["loss"] = make_series("1", {{2.1, 2.0}});
  training.implementation = "onednn 3.0";
  training.status = Status::unstable;
  training.reason = "jumps";
  expect_same_series(document(samples::e2e({}, {})), document(training));
}

TEST(Series, OfPredictionsAreThoseOfTheRun) {
  std::vector<model::Prediction> before = samples::curve("alexnet");
  std::vector<model::Prediction> after = before;
  for (model::Prediction& prediction : after) {
    prediction.time.forward = 2 * prediction.time.forward;
    prediction.images_per_s /= 2;
    prediction.speedup *= 0.9;
    prediction.bound = "input";
    prediction.sources.forward = model::TimeSource::measured;
  }
  expect_same_series(prediction_document(before), prediction_document(after));
  const auto sweep = [](const std::vector<model::Prediction>& curve) {
    Sweep all;
    for (const double bandwidth : {1e9, 2e9}) {
      for (const model::Prediction& prediction : curve) {
        all.rows.push_back({prediction});
        all.rows.back().link.emplace().bandwidth = BytesPerSecond(bandwidth);
      }
    }
    return sweep_document(all);
  };
  expect_same_series(sweep(before), sweep(after));
}

TEST(Series, OfSettingsOfASchedule) {
  std::vector<model::Prediction> of_buckets;
  for (const double bytes : {1e6, 2e6}) {
    dlscale::Run run;
    run.network = "alexnet";
    run.ranks = 2;
    run.schedule = Schedule::bucketed;
    run.settings.bucket = Bytes(bytes);
    of_buckets.push_back(samples::prediction(run, {}));
  }
  std::vector<model::Prediction> after = of_buckets;
  after.front().images_per_s *= 2;
  expect_same_series(prediction_document(of_buckets), prediction_document(after));
}

TEST(Series, OfAValidationAndASummaryAreThoseOfTheRuns) {
  const ReportInput before = samples::report_input();
  ReportInput after = before;
  for (RunValidation& run : after.validation.runs) {
    run.repeats += 1;
    run.blame = "another phase";
    run.measured_bound = "input";
    run.measured_high = 2 * run.measured_high;
    for (PhaseError& phase : run.phases) {
      phase.measured = 1.5 * phase.measured;
      phase.share_of_error += 0.125;
    }
  }
  expect_same_series(validation_document(before.validation, before.limits),
                     validation_document(after.validation, after.limits));
  for (ResultFile& file : after.results) {
    for (Measurement& row : file.measurements) {
      for (auto& [name, series] : row.series) series.summary.median *= 1.25;
    }
  }
  expect_declared(summary_document(before));
  expect_same_series(summary_document(before), summary_document(after));
}

TEST(Series, OfAPlanAreThoseOfItsTrainings) {
  model::PlannedTraining one;
  one.exchange = {Schedule::bucketed, 4_MiB};
  one.ranks = 8;
  one.batch = 32;
  one.iteration = Seconds(0.1);
  one.time = Seconds(3600);
  model::TrainingPlan before;
  before.run.network = "alexnet";
  before.run.cluster = "some";
  before.question.price = 2;
  before.best = {{one, one, "compute", {model::remark("a note")}}};
  before.front = {one};
  before.neighbours = {{"ranks 8 instead of 4", one, true}};
  model::TrainingPlan after = before;
  for (model::PlannedTraining* each : {&after.best[0].planned, &after.best[0].simulated,
                                       &after.front[0], &after.neighbours[0].planned}) {
    each->iteration = Seconds(0.2);
    each->images_per_s = 1234.5;
    each->efficiency = 0.5;
    each->epochs = 91.5;
    each->rank_hours = 17.25;
    each->cost = 34.5;
  }
  after.neighbours[0].within_limits = false;
  expect_same_series(plan_document(before), plan_document(after));
}

TEST(Series, OfAComparisonAndOfMediansSideBySideAreThoseOfTheKernels) {
  const auto of = [](double seconds) {
    const std::vector<double> times{seconds, 1.01 * seconds, 0.99 * seconds};
    return std::vector{samples::file("conv", {samples::timed("conv", {{"layer", "a"}}, times)})};
  };
  const auto compared = [&](double seconds) {
    return comparison_document(compare(of(1), of(seconds), 0.02));
  };
  expect_same_series(compared(1), compared(2));
  const auto beside = [&](double seconds) {
    return side_by_side_document(side_by_side({{"A", of(1), {}}, {"B", of(seconds), {}}}));
  };
  expect_declared(beside(1));
  expect_same_series(beside(1.5), beside(2));
}

}  // namespace
}  // namespace dlscale::report
