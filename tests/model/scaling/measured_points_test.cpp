#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/plan/iteration_grid.hpp"
#include "model/sgd_iter/layer_times.hpp"
#include "model/sgd_iter/measured_level_fit.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/what_if/explain.hpp"
#include "model/what_if/scaled_machine.hpp"
#include "model/what_if/stated_inputs.hpp"

/// Predictions by data sheets that meet measured points of a training.
namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

struct Training {
  Network network;
  Machine machine;
  TrainingRun run;
};

Training training(const std::string& cluster, const std::string& network, Schedule schedule,
                  int batch = 32) {
  Training one{load_network(network), nominal_machine(load_cluster(cluster)), {}};
  one.machine.loaders.front().decode = {};
  one.run.network = network;
  one.run.cluster = cluster;
  one.run.ranks_per_node = one.machine.cluster.devices_per_node;
  one.run.batch = batch;
  one.run.schedule = schedule;
  one.run.input_copy = InputCopy::ahead;
  return one;
}

std::vector<Prediction> curve(const Training& one, std::span<const int> ranks) {
  return predict(one.network, one.machine, one.run, ranks);
}

Prediction on(const Training& one, int ranks) {
  return curve(one, std::span(&ranks, 1)).front();
}

/// The training at the level of the points.
Training with_points(Training one, const std::vector<MeasuredPoint>& points) {
  one.machine.level = measured_level(one.network, one.machine, one.run, points);
  return one;
}

MeasuredPoint point(const Training& one, int ranks, double factor) {
  return {ranks, one.run.batch, factor * on(one, ranks).time.total};
}

std::vector<MeasuredPoint> points_of(const Training& one, const std::vector<int>& ranks,
                                     const std::vector<double>& factors) {
  std::vector<MeasuredPoint> points;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    points.push_back(point(one, ranks[i], factors[i]));
  }
  return points;
}

void expect_met(const Training& one, const std::vector<MeasuredPoint>& points, double tolerance) {
  const Training met = with_points(one, points);
  for (const MeasuredPoint& point : points) {
    const Prediction p = on(met, point.ranks);
    EXPECT_NEAR(p.time.total / point.iteration, 1, tolerance)
        << schedule_name(one.run.schedule) << " on " << point.ranks;
    if (point.ranks > 1) continue;
    EXPECT_LT(*p.high / *p.low, 1.05);
  }
}

TEST(MeasuredPoints, AreMetInEverySchedule) {
  for (const Schedule schedule : all_schedules) {
    if (schedule == Schedule::horovod) continue;
    const Training one = training("dgx_h100", "resnet50", schedule);
    for (const std::vector<double>& factors :
         {std::vector<double>{1.3, 1.5}, {0.8, 0.7}, {1.2, 1.0}}) {
      expect_met(one, points_of(one, {1, 8}, factors), 1e-6);
    }
    expect_met(one, {point(one, 8, 1.4)}, 1e-6);
  }
}

/// Its looks for messages shift against the iteration, so that times leap.
TEST(MeasuredPoints, AreMetByHorovod) {
  const Training one = training("dgx_h100", "alexnet", Schedule::horovod);
  expect_met(one, points_of(one, {1, 8}, {1.1, 1.2}), 1e-6);
}

TEST(MeasuredPoints, ThatAgreeChangeNothing) {
  const Training one = training("v100x16_ib100", "vgg16", Schedule::bucketed);
  const Training met = with_points(one, points_of(one, {1, 4, 16}, {1, 1, 1}));
  EXPECT_EQ(met.machine.level->computing, 1);
  EXPECT_EQ(met.machine.level->added, 1);
  EXPECT_EQ(met.machine.level->doubt, "");
  for (const int ranks : {1, 2, 3, 4, 8, 16, 32}) {
    EXPECT_EQ(on(met, ranks).time.total, on(one, ranks).time.total);
  }
}

TEST(MeasuredPoints, CountInAnyOrder) {
  const Training one = training("dgx_h100", "vgg16", Schedule::bucketed);
  std::vector<MeasuredPoint> points = points_of(one, {1, 3, 8, 64}, {1.2, 1.1, 1.4, 1.6});
  const Training met = with_points(one, points);
  std::ranges::reverse(points);
  const Training reversed = with_points(one, points);
  for (const int ranks : {1, 2, 8, 20, 64, 100}) {
    EXPECT_EQ(on(met, ranks).time.total, on(reversed, ranks).time.total);
  }
}

/// One rank fixes computing, and messages alone repair what several ranks say.
TEST(MeasuredPoints, LeaveComputingToTheSingleRank) {
  const Training one = training("v100x16_ib100", "vgg16", Schedule::bucketed);
  const Training met = with_points(one, points_of(one, {1, 16}, {1.2, 1.15}));
  const int all[] = {1, 2, 4, 8, 16, 32};
  const auto rows = curve(met, all);
  for (const Prediction& row : rows) {
    EXPECT_NEAR(row.time.forward / rows.front().time.forward, 1, 1e-9) << row.run.ranks;
  }
  EXPECT_LT(rows[4].time.exposed_comm, on(one, 16).time.exposed_comm);
}

/// Where they are consistent, more ranks are never slower, and no row leaps.
TEST(MeasuredPoints, GiveACurveWithoutJumps) {
  const Training one = training("dgx_h100", "resnet50", Schedule::bucketed, 256);
  const Training met = with_points(one, points_of(one, {1, 8, 64}, {1.1, 1.13, 1.15}));
  std::vector<int> all(80);
  std::iota(all.begin(), all.end(), 1);
  const auto rows = curve(met, all);
  const auto without = curve(one, all);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto growth = [&](const std::vector<Prediction>& of) {
      return of[i].time.total / of[i - 1].time.total;
    };
    EXPECT_GT(rows[i].images_per_s, rows[i - 1].images_per_s) << all[i];
    EXPECT_NEAR(growth(rows), growth(without), 0.03) << all[i];
  }
}

/// Whatever was measured, times are finite, and each curve passes through its points.
TEST(MeasuredPoints, MayBeAnything) {
  std::mt19937 generator(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same in every run
  std::uniform_real_distribution<double> log_factor(-1, 3);
  for (const char* cluster : {"dgx_h100", "k80x16_10gbe"}) {
    const Training one = training(cluster, "alexnet", Schedule::bucketed);
    for (int trial = 0; trial < 8; ++trial) {
      std::vector<MeasuredPoint> points;
      for (const int ranks : {1, 2, 7, 8, 40}) {
        if (generator() % 2 == 0) continue;
        points.push_back(point(one, ranks, std::exp(log_factor(generator))));
      }
      if (points.empty()) continue;
      expect_met(one, points, 1e-6);
      const Training met = with_points(one, points);
      for (const int ranks : {1, 3, 16, 64}) {
        const Prediction p = on(met, ranks);
        EXPECT_TRUE(std::isfinite(p.time.total.si()) && p.time.total > Seconds());
        for (const Seconds phase : {p.time.forward, p.time.backward, p.time.update}) {
          EXPECT_GT(phase, Seconds());
        }
        EXPECT_GE(p.time.exposed_comm, -1e-9 * p.time.total);
        ASSERT_TRUE(p.low && p.high);
        EXPECT_TRUE(*p.low <= p.time.total && p.time.total <= *p.high);
      }
    }
  }
}

TEST(MeasuredPoints, ThatContradictSaySoAndWidenIntervals) {
  const Training one = training("dgx_h100", "resnet50", Schedule::bucketed, 256);
  const Training slow = with_points(one, points_of(one, {1, 8}, {1, 10}));
  EXPECT_NE(slow.machine.level->doubt.find("contradict the model: 8 ranks"), std::string::npos)
      << slow.machine.level->doubt;
  const Training quick = with_points(one, points_of(one, {1, 8}, {1, 0.8}));
  EXPECT_NE(quick.machine.level->doubt.find("faster than on 1 rank"), std::string::npos)
      << quick.machine.level->doubt;
  const Training good = with_points(one, points_of(one, {1, 8}, {1, 1.01}));
  EXPECT_EQ(good.machine.level->doubt, "");
  const Prediction wide = on(slow, 32);
  const Prediction narrow = on(good, 32);
  EXPECT_GT(*wide.high / *wide.low, 2 * (*narrow.high / *narrow.low));
  const Training far = with_points(one, {point(one, 1, 30)});
  EXPECT_NE(far.machine.level->doubt.find("computing takes 30 times"), std::string::npos)
      << far.machine.level->doubt;
}

TEST(MeasuredPoints, ThatCannotBeAreRefused) {
  Training one = training("dgx_h100", "resnet50", Schedule::bucketed);
  one.machine = nominal_machine(load_cluster("dgx_h100"));  // decodes images
  EXPECT_THROW(with_points(one, {{1, 32, Seconds(1e-6)}}), ConfigError);
}

/// A decoder is assumed, so a point moves it within its interval before it moves computing.
TEST(MeasuredPoints, MoveInputThatBoundsThemFirst) {
  Training one = training("dgx_h100", "resnet18", Schedule::bucketed, 256);
  one.machine = nominal_machine(load_cluster("dgx_h100"));
  one.run.dtype = DType::bf16;
  for (const double factor : {0.95, 1.3}) {  // computing alone takes 0.87
    const std::vector<MeasuredPoint> points{point(one, 1, factor)};
    expect_met(one, points, 1e-6);
    EXPECT_NEAR(with_points(one, points).machine.level->computing, 1, 1e-6) << factor;
  }
  const std::vector<MeasuredPoint> slower{point(one, 1, 3)};  // than any stated decoder
  expect_met(one, slower, 1e-6);
  EXPECT_GT(with_points(one, slower).machine.level->computing, 1);
}

/// Only a base that was measured is sure: then the interval of a speed-up is that of the run.
TEST(MeasuredPoints, LeaveTheErrorOfAnUnmeasuredBase) {
  const Training one = training("dgx_h100", "resnet50", Schedule::bucketed, 256);
  const int ranks[] = {1, 8, 64};
  const auto both = [&](const std::vector<MeasuredPoint>& points) {
    return curve(with_points(one, points), ranks);
  };
  const auto width = [](const Prediction& p) { return *p.speedup_high / *p.speedup_low; };
  const auto by_eight = both({point(one, 8, 1.05)});
  EXPECT_EQ(width(by_eight[0]), 1);
  EXPECT_LT(*by_eight[1].speedup_low, 0.97 * by_eight[1].speedup);
  EXPECT_EQ(*by_eight[1].speedup_high, 8);  // no more than as many ranks
  EXPECT_GT(width(by_eight[2]), width(by_eight[1]));
  const auto by_many = both(points_of(one, {8, 64}, {1.05, 1.1}));
  EXPECT_GT(width(by_many[2]), 1.05);
  const auto by_both = both(points_of(one, {1, 8}, {1.05, 1.05}));
  EXPECT_LT(width(by_both[1]), 1.1);
}

/// The points hold for the machine as measured; a faster network then counts for what it carries.
TEST(MeasuredPoints, HoldForOtherHardware) {
  const Training one = training("k80x16_10gbe", "vgg16", Schedule::bucketed);
  Training met = with_points(one, points_of(one, {1, 16}, {1.2, 1.3}));
  const Prediction as_measured = on(met, 16);
  const MeasuredLevel level = *met.machine.level;
  std::vector<std::string> notes;
  const StatedInput faster[] = {{"inter_node.bandwidth", "100Gb/s"}};
  met.machine = with_stated_inputs(met.machine, faster, notes);
  ASSERT_TRUE(met.machine.level);
  EXPECT_EQ(met.machine.level->computing, level.computing);
  EXPECT_TRUE(met.machine.level->other_links);
  const Prediction quicker = on(met, 16);
  EXPECT_LT(quicker.time.total, 0.95 * as_measured.time.total);
  EXPECT_EQ(quicker.time.forward, as_measured.time.forward);
  EXPECT_GT(*quicker.high / *quicker.low, *as_measured.high / *as_measured.low);
}

/// Explaining changes one thing at a time, each at the level of what was measured.
TEST(MeasuredPoints, AreExplained) {
  Training one = training("dgx_h100", "resnet50", Schedule::bucketed);
  one.run.ranks = 8;
  const Training met = with_points(one, {point(one, 8, 1.5)});
  const Explanation found = explain(met.network, met.machine, met.run);
  const Seconds now = found.prediction.time.total;
  double most = 0;
  for (const Sensitivity& input : found.inputs) most = std::max(most, 1 - input.better / now);
  EXPECT_GT(most, 0.03);
  for (const Advice& advice : found.advice) {
    if (advice.setting == "batch" && advice.value == "64") {
      EXPECT_LT(advice.iteration, 1.99 * now);
    }
  }
}

TEST(MeasuredPoints, ScaleLayers) {
  Training one = training("v100x16_ib100", "vgg16", Schedule::bucketed);
  one.run.ranks = 16;
  const Training met = with_points(one, points_of(one, {1, 16}, {2, 2.5}));
  const LayerTimes before = layer_times(one.network, one.machine, one.run);
  const LayerTimes after = layer_times(met.network, met.machine, met.run);
  const MeasuredLevel& level = *met.machine.level;
  EXPECT_GT(level.computing, 1.9);
  for (std::size_t i = 0; i < before.layers.size(); ++i) {
    EXPECT_NEAR(after.layers[i].forward.si(), level.computing * before.layers[i].forward.si(),
                1e-12);
    EXPECT_NEAR(after.layers[i].communication.si(),
                level.at(16).added * before.layers[i].communication.si(), 1e-12);
  }
}

TEST(MeasuredPoints, ArePlannedAsPredicted) {
  const Training one = training("v100x16_ib100", "resnet50", Schedule::bucketed);
  PlanSpace space;
  space.ranks = {1, 2, 4, 8, 16};
  space.batches = {16, 32};
  for (const Schedule schedule :
       {Schedule::sequential, Schedule::wait_free, Schedule::bucketed, Schedule::merged}) {
    space.exchanges.push_back({schedule});
  }
  const Training met = with_points(one, points_of(one, {1, 4, 16}, {1.3, 1.2, 1.7}));
  const IterationGrid grid = iteration_grid(met.network, met.machine, met.run, space);
  EXPECT_EQ(grid.by_simulation, 0U);
  for (std::size_t e = 0; e < space.exchanges.size(); ++e) {
    for (std::size_t b = 0; b < space.batches.size(); ++b) {
      Training asked = met;
      asked.run.schedule = space.exchanges[e].schedule;
      asked.run.batch = space.batches[b];
      const auto predictions = curve(asked, space.ranks);
      for (std::size_t r = 0; r < space.ranks.size(); ++r) {
        EXPECT_NEAR(grid.at({e, b, r}) / predictions[r].time.total.si(), 1, 1e-6)
            << schedule_name(asked.run.schedule) << ' ' << space.ranks[r];
      }
    }
  }
}

}  // namespace
}  // namespace dlscale::model
