#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/published/cases/prediction.hpp"
#include "model/published/curves/predict.hpp"
#include "model/published/curves/rank_step.hpp"
#include "model/published/curves/sheet_curves.hpp"
#include "model/published/curves/size_curve.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model {
namespace {

using cases::CaseLink;
using cases::CasePrediction;
using cases::CurveCase;
using cases::GivenCurve;
using cases::PredictedValue;
using cases::PredictionStatus;

GivenCurve given(int ranks, int nodes, const std::vector<std::pair<double, double>>& points) {
  GivenCurve curve;
  curve.ranks = ranks;
  curve.nodes = nodes;
  for (const auto& [size, time] : points) {
    curve.bytes.emplace_back(size);
    curve.times.emplace_back(time);
  }
  return curve;
}

/// α + β m at the sizes.
GivenCurve line(int ranks, int nodes, double alpha, double beta) {
  std::vector<std::pair<double, double>> points;
  for (double m = 1024; m < 3e8; m *= 4) points.emplace_back(m, alpha + beta * m);
  return given(ranks, nodes, points);
}

/// An all-reduce over InfiniBand, one rank a node unless changed.
CurveCase asked(int ranks, int nodes, std::vector<GivenCurve> curves,
                const std::vector<double>& sizes) {
  CurveCase curve;
  curve.id = "made/a";
  curve.set = "made";
  curve.collective = "all_reduce";
  curve.buffer = cases::BufferMemory::device;
  curve.ranks = ranks;
  curve.nodes = nodes;
  curve.cluster.inter_node = CaseLink{"infiniband-rdma", BytesPerSecond(1e10), {}};
  curve.given = std::move(curves);
  for (const double size : sizes) curve.query.emplace_back(size);
  return curve;
}

CasePrediction predict_one(const CurveCase& curve) {
  std::vector<CasePrediction> all = predict_curves(std::vector{curve});
  EXPECT_EQ(all.size(), 1U);
  EXPECT_EQ(all.at(0).id, curve.id);
  return all.at(0);
}

std::vector<double> times(const CurveCase& curve) {
  std::vector<double> found;
  for (const auto& value : predict_one(curve).values) found.push_back(value.value().value);
  return found;
}

double time(const CurveCase& curve) {
  return times(curve).at(0);
}

PredictedValue value(const CurveCase& curve) {
  return predict_one(curve).values.at(0).value();
}

TEST(SizeCurve, ALineIsExactBetweenAndBeyondItsPoints) {
  const SizeCurve curve(line(2, 2, 1e-5, 1e-9));
  for (const double m : {1.0, 1024.0, 3000.0, 1e6, 7.7e7, 1e12}) {
    EXPECT_NEAR(curve.time(Bytes(m)).si(), 1e-5 + 1e-9 * m, 1e-12 * (1e-5 + 1e-9 * m)) << m;
    EXPECT_NEAR(curve.latency_share(Bytes(m)), 1e-5 / (1e-5 + 1e-9 * m), 1e-6) << m;
  }
  EXPECT_TRUE(curve.beyond(Bytes(3000)).empty());
  EXPECT_FALSE(curve.covers(Bytes(1000)));
  ASSERT_EQ(curve.beyond(Bytes(512)).size(), 2U);
  EXPECT_NEAR(curve.beyond(Bytes(512))[0].si(), 1e-5 + 1024e-9, 1e-15);
  EXPECT_NEAR(curve.beyond(Bytes(512))[1].si(), (1e-5 + 1024e-9) / 2, 1e-15);
  ASSERT_EQ(curve.beyond(Bytes(1 << 29)).size(), 1U);
  EXPECT_NEAR(curve.beyond(Bytes(1 << 29))[0].si(), 2 * (1e-5 + 0.268435456), 1e-12);
}

TEST(SizeCurve, PassesThroughEveryGivenPointAndRisesWhereTheyDo) {
  // A jump between 8 and 16 KiB, as where a protocol changes.
  const GivenCurve points = given(
      4, 4, {{1024, 2e-5}, {4096, 2.1e-5}, {8192, 3e-5}, {16384, 4e-4}, {1e6, 5e-4}, {1e7, 5e-3}});
  const SizeCurve curve(points);
  for (std::size_t i = 0; i < points.bytes.size(); ++i) {
    EXPECT_DOUBLE_EQ(curve.time(points.bytes[i]).si(), points.times[i].si());
    EXPECT_DOUBLE_EQ(curve.spread(points.bytes[i]), 0.02);
  }
  Seconds before;
  for (double m = 16; m < 1e9; m *= 1.1) {
    EXPECT_GE(curve.time(Bytes(m)), before) << m;
    before = curve.time(Bytes(m));
  }
}

TEST(SizeCurve, IsLessSureWhereItBends) {
  const SizeCurve straight(line(2, 2, 1e-5, 1e-9));
  EXPECT_LT(straight.spread(Bytes(1e8)), 0.03);
  const SizeCurve bent(
      given(2, 2, {{1024, 1e-5}, {4096, 1e-5}, {16384, 1e-3}, {65536, 1.1e-3}, {262144, 1.2e-3}}));
  EXPECT_GT(bent.spread(Bytes(8192)), 0.5);
  EXPECT_LT(bent.spread(Bytes(131072)), bent.spread(Bytes(8192)));
}

TEST(SizeCurve, OneSizeTellsNoSlope) {
  const SizeCurve curve(given(2, 2, {{1e6, 1e-3}}));
  EXPECT_DOUBLE_EQ(curve.time(Bytes(1e3)).si(), 1e-3);
  EXPECT_DOUBLE_EQ(curve.time(Bytes(1e6)).si(), 1e-3);
  EXPECT_DOUBLE_EQ(curve.time(Bytes(3e6)).si(), 3e-3);
  EXPECT_DOUBLE_EQ(curve.latency_share(Bytes(1e3)), 1);
  EXPECT_DOUBLE_EQ(curve.latency_share(Bytes(4e6)), 0.25);
}

TEST(SizeCurve, TakesTheGeometricMeanOfEqualSizesAndLeavesOutWhatIsNoTime) {
  const SizeCurve curve(given(
      2, 2, {{2000, 8e-4}, {1000, 1e-4}, {2000, 2e-4}, {500, 0}, {0, 1}, {NAN, 1}, {1, INFINITY}}));
  EXPECT_NEAR(curve.time(Bytes(2000)).si(), 4e-4, 1e-15);
  EXPECT_NEAR(curve.time(Bytes(1500)).si(), 2.5e-4, 1e-15);
  EXPECT_FALSE(curve.covers(Bytes(500)));
  EXPECT_TRUE(SizeCurve(given(2, 2, {{500, 0}})).empty());
}

TEST(SizeCurve, GoesThroughTheOriginBelowWhereTheFirstChordWouldTurnNegative) {
  const SizeCurve curve(given(2, 2, {{1000, 1e-4}, {2000, 1e-3}}));
  EXPECT_NEAR(curve.time(Bytes(500)).si(), 5e-5, 1e-15);
}

std::vector<RankTime> by_law(double (*law)(double)) {
  std::vector<RankTime> found;
  for (const double ranks : {2.0, 4.0, 16.0}) found.push_back({ranks, Seconds(law(ranks))});
  return found;
}

TEST(RankLaws, FindTheirOwnParameters) {
  const auto tree = by_law([](double p) { return 1e-4 + 2e-5 * std::log2(p); });
  EXPECT_NEAR(logarithmic(tree, 1024).si(), 3e-4, 1e-12);
  const auto ring = by_law([](double p) { return 1e-4 + 2e-5 * p; });
  EXPECT_NEAR(linear(ring, 64).si(), 1e-4 + 128e-5, 1e-12);
  const auto root = by_law([](double p) { return 1e-4 * std::sqrt(p); });
  EXPECT_NEAR(power(root, 64).si(), 8e-4, 1e-12);
}

TEST(RankLaws, TheLogarithmicOneWeighsRelativeErrorsAndTheLargestMost) {
  // Worked out apart: least squares with the weights 1/4, 1/2 and 1 over T².
  const std::vector<RankTime> uneven{{2, Seconds(1)}, {4, Seconds(3)}, {8, Seconds(4)}};
  const std::array w{0.25, 0.5 / 9, 1.0 / 16};
  const double sum = w[0] + w[1] + w[2];
  const double x = (w[0] * 1 + w[1] * 2 + w[2] * 3) / sum;
  const double y = (w[0] * 1 + w[1] * 3 + w[2] * 4) / sum;
  const double slope =
      (w[0] * (1 - x) * (1 - y) + w[1] * (2 - x) * (3 - y) + w[2] * (3 - x) * (4 - y)) /
      (w[0] * (1 - x) * (1 - x) + w[1] * (2 - x) * (2 - x) + w[2] * (3 - x) * (3 - x));
  EXPECT_NEAR(logarithmic(uneven, 16).si(), y + slope * (4 - x), 1e-12);
}

TEST(RankLaws, NeverFall) {
  const std::vector<RankTime> falling{{2, Seconds(4)}, {4, Seconds(2)}};
  EXPECT_GE(logarithmic(falling, 64), Seconds(2));
  EXPECT_LE(logarithmic(falling, 64), Seconds(4));
  EXPECT_DOUBLE_EQ(linear(falling, 64).si(), 2);
  EXPECT_DOUBLE_EQ(power(falling, 8).si(), 2);
}

TEST(RankLaws, MeetAtTheGeometricMeanOfLogarithmAndPower) {
  const std::vector<RankTime> given{{2, Seconds(1)}, {8, Seconds(4)}};
  const double by_logarithm = 5.5;  // 1 + 1.5 lg (p / 2)
  const double by_power = 8;        // p / 2
  EXPECT_NEAR(between_laws(given, 16).si(), std::sqrt(by_logarithm * by_power), 1e-12);
}

TEST(LinkRings, OfAHybridCubeMeshAreAsManyAsItsLinksCarry) {
  cases::CurveCluster node;
  node.gpus_per_node = 8;
  node.intra_node = CaseLink{"nvlink2", BytesPerSecond(150e9), {}};
  // All six links of each of eight V100, four of each of four; GPU 4 has two to GPU 0 alone.
  const std::vector<int> v100{1, 2, 4, 2, 2, 4, 6};
  const std::vector<int> p100{1, 2, 2, 1, 2, 2, 4};
  for (int gpus = 2; gpus <= 8; ++gpus) {
    const auto place = static_cast<std::size_t>(gpus - 2);
    node.intra_node->kind = "nvlink2";
    EXPECT_EQ(link_rings(node, gpus).value().count, v100[place]) << gpus;
    EXPECT_EQ(link_rings(node, gpus).value().direct, gpus != 5) << gpus;
    node.intra_node->kind = "nvlink1";
    EXPECT_EQ(link_rings(node, gpus).value().count, p100[place]) << gpus;
  }
  EXPECT_FALSE(link_rings(node, 1));
  EXPECT_FALSE(link_rings(node, 9));
  node.intra_node->kind = "nvlink3";
  EXPECT_FALSE(link_rings(node, 8));
  node.intra_node->kind = "nvlink2";
  node.gpus_per_node = 4;
  EXPECT_FALSE(link_rings(node, 4));
}

TEST(PredictCurves, InterpolatesOnTheRanksGiven) {
  const CurveCase curve = asked(4, 4, {line(2, 2, 1, 1), line(4, 4, 1e-5, 1e-9)}, {2048, 1e8});
  const CasePrediction found = predict_one(curve);
  EXPECT_EQ(found.status, PredictionStatus::ok);
  EXPECT_EQ(found.unit, cases::CaseUnit::time_s);
  EXPECT_TRUE(found.reason.empty());
  EXPECT_NEAR(times(curve)[0], 1e-5 + 2048e-9, 1e-12);
  EXPECT_NEAR(times(curve)[1], 0.10001, 1e-9);
  ASSERT_EQ(found.terms.size(), 2U);
  EXPECT_EQ(found.terms[0].name, "latency");
  EXPECT_NEAR(found.terms[0].time.si(), 1e-5, 1e-9);
  EXPECT_NEAR(found.terms[1].time.si(), 0.1, 1e-9);
  EXPECT_EQ(found.terms[1].basis, "interpolated");
}

TEST(PredictCurves, SaysWhenSizesLieBeyondThoseGiven) {
  const CasePrediction found = predict_one(asked(4, 4, {line(4, 4, 1e-5, 1e-9)}, {16, 2048, 1e11}));
  EXPECT_EQ(found.status, PredictionStatus::outside_domain);
  test::expect_contains(found.reason, "2 of 3 sizes");
  const PredictedValue small = found.values.at(0).value();
  EXPECT_LT(small.low.value(), 1.1024e-5 * 16 / 1024);  // in proportion
  EXPECT_GT(small.high.value(), 1.1024e-5);             // as long as 1 KiB
}

TEST(PredictCurves, MoreRanksLieBetweenTheLogarithmAndAPowerOfTheirNumber) {
  const std::vector<GivenCurve> curves{line(4, 4, 2e-5, 1e-9), line(8, 8, 3e-5, 1e-9),
                                       line(2, 2, 1e-5, 1e-9)};
  const CurveCase curve = asked(32, 32, curves, {1024, 1e8});
  const double last = 3e-5 + 1024e-9;
  const double exponent = std::log(last / (1e-5 + 1024e-9)) / std::log(4.0);
  EXPECT_NEAR(times(curve)[0], std::sqrt((5e-5 + 1024e-9) * last * std::pow(4.0, exponent)), 1e-12);
  EXPECT_NEAR(times(curve)[1], 0.1 + 5e-5, 1e-8);
  const PredictedValue small = value(curve);
  EXPECT_LT(small.low.value(), 3e-5 + 1024e-9);              // no growth
  EXPECT_GT(small.high.value(), 3e-5 + 1024e-9 + 6 * 1e-5);  // as a ring
  EXPECT_EQ(predict_one(curve).status, PredictionStatus::ok);
  EXPECT_EQ(predict_one(curve).terms.at(0).basis, "extrapolated");
}

TEST(PredictCurves, FarMoreRanksAreOutsideOfTheDomain) {
  const std::vector<GivenCurve> curves{line(2, 2, 1e-5, 1e-9), line(4, 4, 2e-5, 1e-9)};
  EXPECT_EQ(predict_one(asked(16, 16, curves, {1024})).status, PredictionStatus::ok);
  const CasePrediction far = predict_one(asked(17, 17, curves, {1024}));
  EXPECT_EQ(far.status, PredictionStatus::outside_domain);
  test::expect_contains(far.reason, "17 ranks");
}

TEST(PredictCurves, RanksThatDoNotForetellEachOtherAreSaidToBeAGuess) {
  const std::vector<GivenCurve> wild{line(2, 2, 1e-5, 1e-9), line(4, 4, 1e-5, 1e-9),
                                     line(8, 8, 1e-4, 1e-8)};
  const CasePrediction found = predict_one(asked(16, 16, wild, {1024, 1e6}));
  EXPECT_EQ(found.status, PredictionStatus::outside_domain);
  test::expect_contains(found.reason, "guess");
  const std::vector<GivenCurve> calm{line(2, 2, 1e-5, 1e-9), line(4, 4, 2e-5, 1e-9),
                                     line(8, 8, 3e-5, 1e-9)};
  const auto width = [](const PredictedValue& of) {
    return (of.high.value() - of.low.value()) / of.value;
  };
  EXPECT_GT(width(found.values.at(0).value()), 3 * width(value(asked(16, 16, calm, {1024, 1e6}))));
}

TEST(PredictCurves, BetweenTwoNumbersOfRanksGoStraightInTheLogarithm) {
  const std::vector<GivenCurve> curves{line(2, 2, 1e-5, 1e-9), line(8, 8, 3e-5, 1e-9)};
  EXPECT_NEAR(time(asked(4, 4, curves, {1024})), 2e-5 + 1024e-9, 1e-12);
}

TEST(PredictCurves, FromOneNumberOfRanksLatencyGrowsAsATreeAndTheRestAsARing) {
  const CurveCase curve = asked(8, 8, {line(2, 2, 1e-5, 1e-9)}, {1024, 1e8});
  EXPECT_NEAR(times(curve)[0], 3e-5 + 1.75 * 1024e-9, 1e-12);
  EXPECT_NEAR(times(curve)[1], 3e-5 + 1.75 * 0.1, 1e-9);
  CurveCase broadcast = curve;
  broadcast.collective = "broadcast";
  EXPECT_NEAR(times(broadcast)[1], 3e-5 + 0.1, 1e-9);
  CurveCase barrier = curve;
  barrier.collective = "barrier";
  const CasePrediction refused = predict_one(barrier);
  EXPECT_EQ(refused.status, PredictionStatus::not_covered);
  test::expect_contains(refused.reason, "barrier");
}

TEST(PredictCurves, CurvesOfOneNodeTellNothingOfSeveral) {
  const GivenCurve slow = line(8, 1, 1, 1);
  const GivenCurve two_nodes = line(16, 2, 1e-5, 1e-9);
  EXPECT_DOUBLE_EQ(time(asked(32, 4, {slow, two_nodes}, {1e6})),
                   time(asked(32, 4, {two_nodes}, {1e6})));
}

/// GPUs of one node of eight V100 that carry β a byte over each link, without latency.
CurveCase meshed(int gpus, const std::vector<int>& counts) {
  const std::vector<double> rings{0, 0, 1, 2, 4, 2, 2, 4, 6};
  std::vector<GivenCurve> curves;
  curves.reserve(counts.size());
  for (const int n : counts) {
    curves.push_back(line(n, 1, 0, 2.0 * (n - 1) / n / rings[static_cast<std::size_t>(n)] * 4e-11));
  }
  CurveCase curve = asked(gpus, 1, std::move(curves), {1e8});
  curve.cluster.gpus_per_node = 8;
  curve.cluster.intra_node = CaseLink{"nvlink2", BytesPerSecond(150e9), {}};
  return curve;
}

TEST(PredictCurves, RingsOfLinksTellWhatTheNumberOfRanksDoesNot) {
  EXPECT_NEAR(time(meshed(8, {2, 4})), 1.75 / 6 * 4e-3, 1e-12);
  EXPECT_NEAR(time(meshed(6, {2, 4})), 5.0 / 3 / 2 * 4e-3, 1e-12);
  EXPECT_EQ(predict_one(meshed(6, {2, 4})).status, PredictionStatus::ok);
  const CasePrediction five = predict_one(meshed(5, {2, 4}));
  EXPECT_NEAR(five.values.at(0).value().value, 1.6 / 2 * 4e-3, 1e-12);
  EXPECT_EQ(five.status, PredictionStatus::outside_domain);
  CurveCase on_hosts = meshed(8, {2, 4});
  on_hosts.buffer = cases::BufferMemory::host;
  EXPECT_GT(time(on_hosts), 1.9 / 6 * 4e-3);
}

TEST(PredictCurves, TheStepOverNodesIsToldByTheDataSheet) {
  // 48 us + 0.1 ns/B in a node; 4 nodes of 8 at 10 GB/s: 2 · 3/4 · m / B, and sqrt(4 · 6) steps.
  CurveCase curve = asked(32, 4, {line(4, 1, 1, 1), line(8, 1, 48e-6, 1e-10)}, {1e8});
  const CasePrediction found = predict_one(curve);
  EXPECT_EQ(found.status, PredictionStatus::outside_domain);
  test::expect_contains(found.reason, "data sheet");
  const double latency = 48e-6 + std::sqrt(24.0) * 30e-6;
  EXPECT_NEAR(found.values.at(0).value().value, latency + 1e-2 + 1.5e-2, 1e-9);
  EXPECT_NEAR(found.terms.at(0).time.si(), latency, 1e-9);
  EXPECT_LT(found.values.at(0).value().low.value(), 1.5e-2);
  EXPECT_GT(found.values.at(0).value().high.value(), 1e-2 + 1.9375e-2);
  curve.collective = "all_to_all";  // eight ranks share the adapters
  EXPECT_NEAR(time(curve), 48e-6 + std::sqrt(6.0) * 30e-6 + 1e-2 + 8 * 0.75e-2, 1e-9);
  curve.cluster.inter_node.reset();
  EXPECT_EQ(predict_one(curve).status, PredictionStatus::not_covered);
  EXPECT_GT(start_up("ethernet-tcp"), start_up("infiniband-rdma"));
}

TEST(PredictCurves, CountNodesWhereRanksAreNotTold) {
  std::vector<GivenCurve> curves{line(0, 2, 1e-5, 1e-9), line(0, 4, 2e-5, 1e-9)};
  const double last = 2e-5 + 1024e-9;
  const double by_power = last * last / (1e-5 + 1024e-9);
  const double expected = std::sqrt((3e-5 + 1024e-9) * by_power);
  EXPECT_NEAR(time(asked(0, 8, curves, {1024})), expected, 1e-12);
  curves.push_back(line(8, 0, 1, 1));  // counts ranks: of no use
  EXPECT_NEAR(time(asked(0, 8, curves, {1024})), expected, 1e-12);
}

TEST(PredictCurves, SayWhyTheyAreNotCovered) {
  const std::vector<CurveCase> lost{
      asked(4, 4, {}, {1024}), asked(4, 4, {line(4, 4, 1e-5, 1e-9)}, {}),
      asked(4, 4, {line(1, 1, 1e-5, 1e-9)}, {1024}), asked(1, 1, {line(4, 1, 1e-5, 0)}, {1024}),
      asked(4, 4, {given(4, 4, {{1024, 0}})}, {1024})};
  for (const CasePrediction& prediction : predict_curves(lost)) {
    EXPECT_EQ(prediction.status, PredictionStatus::not_covered);
    EXPECT_FALSE(prediction.reason.empty());
    EXPECT_TRUE(prediction.values.empty());
  }
}

TEST(PredictCurves, NamesDoNotMatter) {
  const std::vector<GivenCurve> curves{line(2, 2, 1e-5, 1e-9), line(4, 4, 2e-5, 1e-9)};
  const CurveCase curve = asked(8, 8, curves, {1024, 1e6});
  CurveCase renamed = curve;
  renamed.set = "another";
  renamed.cluster.gpu = "another";
  renamed.library = "another";
  renamed.source = "another";
  EXPECT_EQ(predict_one(renamed), predict_one(curve));
}

TEST(PredictCurves, WhateverIsGivenNumbersAreFiniteAndInOrder) {
  const std::vector<std::vector<GivenCurve>> all{
      {given(4, 4, {{1024, 1e-5}})},
      {given(4, 4, {{1024, 1e-5}, {1024, 1e-3}})},
      {given(4, 4, {{1, 1e9}, {1e18, 1e-12}})},
      {given(2, 2, {{1, 1e-12}, {2, 1e9}}), given(4, 4, {{1, 1e9}, {2, 1e-12}})},
      {line(2, 2, 1e-5, 1e-9), line(3, 3, 1e-7, 1e-9), line(100'000'000, 5, 1e9, 0)},
      {line(2, 0, 1e-5, 1e-9), line(4, 4, 1e-5, 1e-9), line(4, 1, 1e-5, 1e-9)}};
  for (const auto& curves : all) {
    for (const int ranks : {2, 3, 4, 8, 1'000'000'000}) {
      for (const int nodes : {0, 1, 2, ranks}) {
        const CurveCase curve = asked(ranks, nodes, curves, {1, 1024, 1500, 1e18});
        const CasePrediction found = predict_one(curve);
        EXPECT_EQ(found.status == PredictionStatus::ok, found.reason.empty());
        for (const auto& told : found.values) {
          if (!told) continue;
          EXPECT_GT(told->low.value(), 0);
          EXPECT_LE(told->low.value(), told->value);
          EXPECT_LE(told->value, told->high.value());
          EXPECT_TRUE(std::isfinite(told->high.value()));
        }
      }
    }
  }
}

/// One answer from data sheets, without what is given.
CasePrediction by_sheets(const CurveCase& curve, const char* algorithm = "library") {
  return predict_by_sheets(std::vector{curve}, algorithm).at(0);
}

TEST(SheetCurves, AreWhatTheLinksOfTheShippedClustersSay) {
  CurveCase curve = asked(8, 1, {}, {1 << 30});
  curve.cluster.gpus_per_node = 8;
  curve.cluster.intra_node = CaseLink{"nvlink2", BytesPerSecond(150e9), {}};
  const PredictedValue v100 = by_sheets(curve).values.at(0).value();
  EXPECT_NEAR(v100.value, 0.01397, 0.1 * 0.01397);  // vTrain's table
  EXPECT_LT(*v100.low, 0.01397);
  EXPECT_GT(*v100.high, 0.01397);
  curve.given = {line(8, 1, 1, 1)};
  EXPECT_EQ(by_sheets(curve).values.at(0).value(), v100) << "given points have no part";
  curve.cluster.intra_node = CaseLink{"nvlink4", BytesPerSecond(450e9), {}};
  const double by_library = by_sheets(curve).values.at(0)->value;
  EXPECT_LT(by_sheets(curve, "nccl").values.at(0)->value, by_library);
  curve.nodes = 2;
  curve.ranks = 16;
  EXPECT_GT(by_sheets(curve).values.at(0)->value, by_library);
}

TEST(SheetCurves, AreNotCoveredWhereLinksAreNotTold) {
  CurveCase curve = asked(16, 2, {}, {1e6});
  curve.cluster.gpus_per_node = 8;
  EXPECT_EQ(by_sheets(curve).status, PredictionStatus::not_covered) << "within the node";
  curve.cluster.intra_node = CaseLink{"pcie3x16", BytesPerSecond(15.75e9), {}};
  EXPECT_EQ(by_sheets(curve).status, PredictionStatus::ok);
  EXPECT_EQ(by_sheets(curve, "nccl").status, PredictionStatus::not_covered);
  const CurveCase whole = curve;
  curve.cluster.inter_node.reset();
  EXPECT_EQ(by_sheets(curve).status, PredictionStatus::not_covered) << "between nodes";
  curve = whole;
  curve.cluster.inter_node->kind = "string";
  EXPECT_EQ(by_sheets(curve).status, PredictionStatus::not_covered) << "of no known kind";
  curve = whole;
  curve.cluster.intra_node = CaseLink{"nvlink2", BytesPerSecond(1e9), {}};
  test::expect_contains(by_sheets(curve).reason, "not like those of dgx1");
  curve = whole;
  curve.ranks = 2'000'000'000;
  EXPECT_EQ(by_sheets(curve).status, PredictionStatus::not_covered);
  curve = whole;
  curve.cluster.inter_node->bandwidth = BytesPerSecond(1e-300);
  EXPECT_EQ(by_sheets(curve).status, PredictionStatus::not_covered);
  curve = whole;
  curve.query.clear();
  EXPECT_EQ(by_sheets(curve).status, PredictionStatus::not_covered);
}

}  // namespace
}  // namespace dlscale::model
