#include "model/published/scaling/predictor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/core/support.hpp"
#include "tests/model/scaling/synthetic_study.hpp"

namespace dlscale::model::scaling {
namespace {

using cases::CasePrediction;
using cases::PredictedTerm;
using cases::PredictionStatus;
using cases::ScalingCase;
using dlscale::test::expect_contains;
using test::training;

const FactSources& predictor_sources() {
  static const FactSources loaded = FactSources::load();
  return loaded;
}

/// The prior, with errors of a few per cent, fitted to up to 64 GPUs.
Fit predictor_some_fit() {
  Fit fit;
  fit.parameters = Parameters::prior();
  const ErrorParts parts = {0.03, 0.05, 0.04, 0.01, 0.05, 0.04, 0.02, 0.01, 0.01, 0.02, 0.02};
  fit.errors = {0.01, parts, parts, -1.6, 2.5};
  fit.domain = {64, 4, 0.1, 2, {}, {"PyTorch DistributedDataParallel"}};
  fit.domain.hardware = {FittedRange{15.75e9, 31.5e9}, FittedRange{150e9, 300e9},
                         FittedRange{1.25e9, 3.125e9}, FittedRange{12.5e9, 200e9},
                         FittedRange{240e9, 2039e9},   FittedRange{2014, 2020}};
  return fit;
}

FittedScaling some_model() {
  FittedScaling model;
  model.all = predictor_some_fit();
  return model;
}

CasePrediction predictor_predicted(const ScalingCase& asked,
                                   const FittedScaling& model = some_model()) {
  return predict(model, predictor_sources(), std::vector{asked}).at(0);
}

double value_of(const CasePrediction& prediction) {
  return prediction.values.at(0).value().value;
}

/// High over low.
double spread_of(const CasePrediction& prediction) {
  const cases::PredictedValue& value = prediction.values.at(0).value();
  return *value.high / *value.low;
}

const PredictedTerm& term(const CasePrediction& prediction, std::string_view name) {
  for (const PredictedTerm& each : prediction.terms) {
    if (each.name == name) return each;
  }
  throw std::out_of_range("no such term");
}

TEST(ScalingPredictor, SaysSamplesASecondWithAnIntervalAroundThem) {
  const ScalingCase asked = training(0, 16, cases::Overlap::bucketed);
  const CasePrediction found = predictor_predicted(asked);
  EXPECT_EQ(found.id, asked.id);
  EXPECT_EQ(found.status, PredictionStatus::ok) << found.reason;
  EXPECT_EQ(found.reason, "");
  EXPECT_EQ(found.unit, cases::CaseUnit::samples_per_s);
  const cases::PredictedValue& value = found.values.at(0).value();
  EXPECT_GT(value.value, 320);       // one GPU
  EXPECT_LT(value.value, 16 * 320);  // sixteen that need not wait for each other
  EXPECT_GT(*value.low, 0);
  EXPECT_LT(*value.low, value.value);
  EXPECT_GT(*value.high, value.value);
}

TEST(ScalingPredictor, TermsAddUpToTheTimePredicted) {
  for (std::size_t set = 0; set < test::hardware.size(); ++set) {
    for (const auto overlap : {cases::Overlap::none, cases::Overlap::bucketed, cases::Overlap::wfbp,
                               cases::Overlap::merged}) {
      const ScalingCase asked = training(set, 16, overlap);
      const CasePrediction found = predictor_predicted(asked);
      double sum = 0;
      for (const PredictedTerm& each : found.terms) sum += each.time.si();
      EXPECT_NEAR(sum, asked.global_batch / value_of(found), 1e-9) << asked.id;
    }
  }
}

TEST(ScalingPredictor, TellsWhatATermRestsOn) {
  const CasePrediction same = predictor_predicted(training(0, 16, cases::Overlap::none));
  EXPECT_EQ(term(same, "compute").basis, "measured");
  EXPECT_NEAR(term(same, "compute").time.si(), 0.2, 1e-9);
  EXPECT_EQ(term(same, "exposed communication").basis, "fitted");
  EXPECT_EQ(term(same, "waiting for the slowest").basis, "fitted");
  const CasePrediction other = predictor_predicted(training(0, 16, cases::Overlap::none, 32));
  EXPECT_EQ(term(other, "compute").basis, "extrapolated");
  ScalingCase from_two = training(0, 16, cases::Overlap::none);
  from_two.given = {{2, cases::PerSecond(600), 64, 128, ""}};
  EXPECT_EQ(term(predictor_predicted(from_two), "compute").basis, "extrapolated");
  // Computing that was timed by itself is taken as it is; what it leaves out is a term of its own.
  ScalingCase computing = training(0, 16, cases::Overlap::none);
  computing.given.front().note = "compute only, no communication";
  const CasePrediction computed = predictor_predicted(computing);
  EXPECT_EQ(term(computed, "compute").basis, "measured");
  EXPECT_NEAR(term(computed, "compute").time.si(), 0.2, 1e-9);
  EXPECT_EQ(term(computed, "update and input not in the given point").basis, "fitted");
}

TEST(ScalingPredictor, TellsThatLayersAreNotKnown) {
  ScalingCase asked = training(0, 16, cases::Overlap::wfbp);
  asked.network.name = "Homegrown";
  const CasePrediction found = predictor_predicted(asked);
  EXPECT_EQ(found.status, PredictionStatus::ok);  // a lesser thing than a GPU that is not known
  expect_contains(found.reason, "the layers of \"Homegrown\" are not known");
  EXPECT_EQ(term(found, "exposed communication").basis, "assumed");
}

TEST(ScalingPredictor, StartsFromTheNearestGivenPoint) {
  const auto given = [](int gpus, double speed, double batch = 64) {
    return cases::GivenPoint{gpus, cases::PerSecond(speed), batch, batch * gpus, ""};
  };
  ScalingCase asked = training(0, 8, cases::Overlap::bucketed);
  asked.given = {given(1, 320), given(4, 1000), given(2, 580)};
  const CasePrediction found = predictor_predicted(asked);
  expect_contains(found.reason, "of 3 given points that of 4 GPUs is the nearest");
  ScalingCase only_that = asked;
  only_that.given = {given(4, 1000)};
  EXPECT_EQ(value_of(found), value_of(predictor_predicted(only_that)));
  EXPECT_EQ(predictor_predicted(only_that).reason, "");
  std::swap(asked.given[0], asked.given[1]);  // whatever their order
  EXPECT_EQ(predictor_predicted(asked), found);
  asked.given = {given(4, 1000, 16), given(2, 580)};  // two halvings of the batch are further
  EXPECT_EQ(nearest_given(asked).gpus, 2);
  asked.given = {given(4, 1000), given(16, 4000)};  // equally near
  EXPECT_EQ(nearest_given(asked).gpus, 4);
  asked.given = {given(8, 2000), given(1, 320)};
  asked.given.front().note = "compute only";
  EXPECT_EQ(nearest_given(asked).gpus, 1);
}

TEST(ScalingPredictor, ReturnsTheGivenPointWithANarrowInterval) {
  for (std::size_t set = 0; set < test::hardware.size(); ++set) {
    for (const int gpus : {1, 4, 16}) {
      ScalingCase asked = training(set, gpus, cases::Overlap::unknown);
      asked.given = {{gpus, cases::PerSecond(250.0 * gpus), 64, 64.0 * gpus, ""}};
      FittedScaling model = some_model();
      model.all.domain.given_gpus = 64;
      const CasePrediction found = predictor_predicted(asked, model);
      EXPECT_EQ(found.status, PredictionStatus::ok) << found.reason;
      EXPECT_NEAR(value_of(found) / (250.0 * gpus), 1, 1e-9);
      EXPECT_LT(spread_of(found), 1.03);
      EXPECT_GT(spread_of(found), 1.005);
    }
  }
}

TEST(ScalingPredictor, PredictsASetByTheFitWithoutIt) {
  FittedScaling model = some_model();
  Fit slow = predictor_some_fit();
  for (double& value : slow.parameters.values) value *= 1.1;
  model.without.emplace("set a", slow);
  const ScalingCase asked = training(0, 16, cases::Overlap::none);
  ScalingCase elsewhere = asked;
  elsewhere.set = "another set";
  FittedScaling only_slow;
  only_slow.all = slow;
  EXPECT_NE(value_of(predictor_predicted(asked, model)),
            value_of(predictor_predicted(elsewhere, model)));
  EXPECT_EQ(value_of(predictor_predicted(asked, model)),
            value_of(predictor_predicted(elsewhere, only_slow)));
}

TEST(ScalingPredictor, OutsideItsDomainItSaysWhyAndHowMuchLessSureItIs) {
  const ScalingCase inside = training(1, 64, cases::Overlap::bucketed);
  EXPECT_EQ(predictor_predicted(inside).status, PredictionStatus::ok)
      << predictor_predicted(inside).reason;
  FittedScaling narrow = some_model();
  narrow.all.domain.gpus = 32;
  const CasePrediction found = predictor_predicted(inside, narrow);
  EXPECT_EQ(found.status, PredictionStatus::outside_domain);
  expect_contains(found.reason, "64 GPUs, and no more than 32");
  EXPECT_EQ(value_of(found), value_of(predictor_predicted(inside)));
  EXPECT_NEAR(std::log(spread_of(found)),
              outside_stretch * std::log(spread_of(predictor_predicted(inside))), 1e-9);
}

TEST(ScalingPredictor, EveryWayOutOfTheDomainHasItsReason) {
  const auto reason = [](const ScalingCase& asked) {
    const CasePrediction found = predictor_predicted(asked);
    EXPECT_EQ(found.status, PredictionStatus::outside_domain);
    return found.reason;
  };
  expect_contains(reason(training(1, 64, cases::Overlap::none, 4)), "0.0625 times");
  expect_contains(reason(training(1, 64, cases::Overlap::none, 256)), "4 times that");
  ScalingCase from_many = training(1, 32, cases::Overlap::none);
  from_many.given = {{16, cases::PerSecond(4000), 64, 1024, ""}};
  expect_contains(reason(from_many), "of 16 GPUs, and of 4 at most");
  ScalingCase fewer = training(1, 2, cases::Overlap::none);
  fewer.given = {{4, cases::PerSecond(1000), 64, 256, ""}};
  expect_contains(reason(fewer), "fewer GPUs than the 4");
  ScalingCase unknown = training(1, 16, cases::Overlap::none);
  unknown.cluster.gpu = "Abacus 3000";
  expect_contains(reason(unknown), "Abacus 3000");
  ScalingCase other = training(1, 16, cases::Overlap::none);
  other.run.framework = "MindSpore: batch size=128";
  expect_contains(reason(other), "MindSpore, of which nothing was fitted");
}

TEST(ScalingPredictor, HardwareThatNothingWasFittedToIsOutside) {
  const auto reason = [](std::size_t set, auto change, FittedScaling model = some_model()) {
    ScalingCase asked = training(set, 16, cases::Overlap::bucketed);
    change(asked);
    const CasePrediction found = predictor_predicted(asked, model);
    EXPECT_EQ(found.status, PredictionStatus::outside_domain);
    return found.reason;
  };
  const auto network = [&](std::size_t set, double rate) {
    return reason(set, [&](ScalingCase& asked) {
      asked.cluster.inter_node->bandwidth = BytesPerSecond(rate);
    });
  };
  expect_contains(network(0, 0.125e9), "TCP between nodes: 0.125 GB/s, and no less than 1.25 GB/s");
  expect_contains(network(0, 12.5e9), "TCP between nodes: 12.5 GB/s, and no more than 3.125 GB/s");
  expect_contains(network(1, 400e9), "RDMA between nodes: 400 GB/s, and no more than 200 GB/s");
  const std::string newer =
      reason(1, [](ScalingCase& asked) { asked.cluster.gpu = "B200-SXM-180GB"; });
  expect_contains(newer, "memory of GPUs: ");
  expect_contains(newer, "GPUs by their year: 2024, and no more than 2020");
  expect_contains(reason(0,
                         [](ScalingCase& asked) {
                           asked.cluster.intra_node = {"pcie5x16", BytesPerSecond(63e9), {}};
                         }),
                  "PCI Express within nodes: 63 GB/s");
  FittedScaling no_tcp = some_model();
  no_tcp.all.domain.hardware[static_cast<std::size_t>(Hardware::tcp)].reset();
  expect_contains(reason(
                      0, [](ScalingCase&) {}, no_tcp),
                  "TCP between nodes (1.25 GB/s), of which nothing was fitted");
  // Links that are not used do not matter, nor what is nearly as fast.
  ScalingCase on_node = training(0, 4, cases::Overlap::bucketed);
  on_node.cluster.inter_node->bandwidth = BytesPerSecond(1e6);
  EXPECT_EQ(predictor_predicted(on_node).status, PredictionStatus::ok);
  ScalingCase nearly = training(0, 16, cases::Overlap::bucketed);
  nearly.cluster.inter_node->bandwidth = BytesPerSecond(3.5e9);
  EXPECT_EQ(predictor_predicted(nearly).status, PredictionStatus::ok);
}

TEST(ScalingPredictor, WhatItDoesNotCoverHasAReasonAndNoNumber) {
  ScalingCase split = training(1, 16, cases::Overlap::bucketed);
  split.run.parallel.dp = 8;
  split.run.parallel.tp = 2;
  ScalingCase alone = training(1, 16, cases::Overlap::bucketed);
  alone.given.clear();
  for (const ScalingCase& asked : {split, alone}) {
    const CasePrediction found = predictor_predicted(asked);
    EXPECT_EQ(found.status, PredictionStatus::not_covered);
    EXPECT_TRUE(found.values.empty());
    EXPECT_FALSE(found.reason.empty());
  }
}

TEST(ScalingPredictor, OnOneGpuItSaysWhatWasGiven) {
  const CasePrediction found = predictor_predicted(training(0, 1, cases::Overlap::bucketed));
  EXPECT_NEAR(value_of(found), 320, 1e-9);
  EXPECT_EQ(found.from, (cases::ScaledFrom{1, 320, 1}));
}

/// Figures that a file may hold, however unlike any training they are.
TEST(ScalingPredictor, StaysFiniteOnFiguresOfNoRealTraining) {
  std::vector<ScalingCase> asked;
  const auto add = [&](auto change) {
    ScalingCase made = training(1, 16, cases::Overlap::bucketed);
    change(made);
    asked.push_back(made);
  };
  for (const std::int64_t parameters : {std::int64_t{1}, std::int64_t{1000000000000000}}) {
    add([&](ScalingCase& made) { made.network.parameters = parameters; });
  }
  for (const double speed : {1e-9, 1e12}) {
    add([&](ScalingCase& made) { made.given.at(0).throughput = cases::PerSecond(speed); });
    add([&](ScalingCase& made) { made.cluster.intra_node.bandwidth = BytesPerSecond(speed); });
    add([&](ScalingCase& made) { made.cluster.inter_node->bandwidth = BytesPerSecond(speed); });
  }
  for (const int gpus : {1, 3, 5, 1000000}) {
    add([&](ScalingCase& made) { made = training(1, gpus, cases::Overlap::merged); });
  }
  add([](ScalingCase& made) {  // two nodes are given, and no link between them
    made = training(1, 4, cases::Overlap::bucketed);
    made.given.at(0).gpus = 8;
    made.given.at(0).global_batch = 512;
    made.cluster.inter_node.reset();
  });
  add([](ScalingCase& made) { made.batch_per_gpu = 1e-6; });
  add([](ScalingCase& made) { made.batch_per_gpu = 1e9; });
  add([](ScalingCase& made) { made.network.name = ""; });
  add([](ScalingCase& made) { made.run.framework = std::string(4000, 'x'); });
  for (const CasePrediction& found : predict(some_model(), predictor_sources(), asked)) {
    if (found.status == PredictionStatus::not_covered) continue;
    const cases::PredictedValue& value = found.values.at(0).value();
    EXPECT_TRUE(std::isfinite(value.value) && value.value > 0) << found.id;
    EXPECT_TRUE(std::isfinite(*value.high) && *value.high >= value.value) << found.id;
    EXPECT_TRUE(*value.low > 0 && *value.low <= value.value) << found.id;
    for (const PredictedTerm& each : found.terms) {
      EXPECT_TRUE(std::isfinite(each.time.si()) && each.time.si() >= 0) << each.name;
    }
  }
}

}  // namespace
}  // namespace dlscale::model::scaling
