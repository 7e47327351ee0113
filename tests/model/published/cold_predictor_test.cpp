#include "model/published/cold/predictor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/published/cold/step.hpp"
#include "model/published/cold/training.hpp"
#include "tests/core/support.hpp"
#include "tests/model/published/cold_case.hpp"

namespace dlscale::model::cold {
namespace {

using cases::CasePrediction;
using cases::PredictedTerm;
using cases::PredictionStatus;
using cases::ScalingCase;
using dlscale::test::expect_contains;
using test::cold_case;
using test::cold_case_on;

CasePrediction predicted(const ScalingCase& training) {
  static const scaling::FactSources sources = scaling::FactSources::load();
  static const scaling::ScalingFile file = scaling::load_scaling(scaling::usual_scaling);
  sheet::KernelFile kernels;
  kernels.constants = sheet::nominal_constants();
  return predict(file.fitted, kernels, sources, std::vector{training}).at(0);
}

double sum_of(const std::vector<PredictedTerm>& terms) {
  double sum = 0;
  for (const PredictedTerm& term : terms) sum += term.time.si();
  return sum;
}

TEST(ColdPredictor, PredictsOneGpuByItsDataSheet) {
  const CasePrediction answer = predicted(cold_case());
  ASSERT_EQ(answer.status, PredictionStatus::ok) << answer.reason;
  const cases::PredictedValue& value = answer.values.at(0).value();
  // Published for ResNet-50 in fp32 on a V100: some 380 images a second.
  EXPECT_NEAR(value.value, 380, 60);
  EXPECT_LT(value.low.value(), value.value);
  EXPECT_GT(value.high.value(), value.value);
  ASSERT_EQ(answer.terms.size(), 3);
  EXPECT_EQ(answer.terms[0].name, "forward");
  EXPECT_EQ(answer.terms[0].basis, "data sheet");
  EXPECT_NEAR(sum_of(answer.terms), 64 / value.value, 1e-9);
  EXPECT_FALSE(answer.from);
}

TEST(ColdPredictor, AddsOtherGpusByTheModelOfScaling) {
  const CasePrediction one = predicted(cold_case());
  const CasePrediction eight = predicted(cold_case_on(8));
  const cases::PredictedValue& value = eight.values.at(0).value();
  EXPECT_LT(value.value, 8 * one.values.at(0)->value);
  EXPECT_GT(value.value, 6 * one.values.at(0)->value);
  EXPECT_NEAR(sum_of(eight.terms), 512 / value.value, 1e-9);
  // Two independent errors: more than either alone.
  const double alone = std::log(one.values.at(0)->value / one.values.at(0)->low.value());
  EXPECT_GT(std::log(value.value / value.low.value()), 0.99 * alone);
}

TEST(ColdPredictor, SaysWhatItDoesNotCover) {
  ScalingCase training = cold_case();
  training.network.name = "A net";
  const CasePrediction answer = predicted(training);
  EXPECT_EQ(answer.status, PredictionStatus::not_covered);
  expect_contains(answer.reason, "layers");
}

}  // namespace
}  // namespace dlscale::model::cold
