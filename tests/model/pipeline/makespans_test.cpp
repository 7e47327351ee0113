#include "model/parallel/pipeline/makespans.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "core/parallel/schedule/family.hpp"
#include "tests/model/pipeline/random_pipeline.hpp"

/// Makespans from a part of the micro-batches, against simulations of all.
namespace dlscale::model {
namespace {

Seconds whole(const RandomPipeline& of) {
  return simulate(of.schedule->schedule(of.shape), of.costs).makespan;
}

constexpr double few_pieces = 1;

/// A transformer's pipeline: equal parts, the first with the embedding, the last with the head.
RandomPipeline transformer_pipeline(std::mt19937& random, const char* schedule) {
  std::uniform_real_distribution<double> unit(0, 1);
  const int stages = 2 + static_cast<int>(random() % 15);
  RandomPipeline pipeline{&parallel::find_schedule(schedule), {}, {}};
  const int chunks =
      std::string(schedule) == "interleaved" ? 2 + static_cast<int>(random() % 4) : 1;
  pipeline.shape = {stages, chunks, stages * (6 + static_cast<int>(random() % 20))};
  const double backward = 1.8 + 1.4 * unit(random);
  const double message = 0.1 * unit(random);
  const double head = 1.5 * unit(random);
  const double embedding = 0.02 * unit(random);
  const int parts = pipeline.shape.parts();
  for (int part = 0; part < parts; ++part) {
    const double own_head = part == parts - 1 ? head : 0;
    const double own_embedding = part == 0 ? embedding : 0;
    pipeline.costs.forward.emplace_back(1 + own_embedding / 2 + own_head / 3);
    pipeline.costs.backward.emplace_back(backward + own_embedding / 2 + 2 * own_head / 3);
    pipeline.costs.backward_weights.emplace_back(0.4 * backward + own_head / 3);
    if (part + 1 < parts) pipeline.costs.boundary.emplace_back(message);
  }
  return pipeline;
}

TEST(Makespans, AreThoseOfASimulationWhereThatIsShort) {
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    const RandomPipeline pipeline =
        random_pipeline(random, random_schedule(random), Parts::unequal);
    const Makespans makespans(*pipeline.schedule, pipeline.shape);
    EXPECT_EQ(makespans.simulated(), std::vector{pipeline.shape.micro_batches});
    EXPECT_EQ(makespans.of(pipeline.costs), whole(pipeline)) << pipeline.text();
  }
}

TEST(Makespans, AreExactForGpipeAndNearlyAllEqualParts) {
  std::mt19937 random(5);
  int fewer = 0;
  int inexact = 0;
  for (int i = 0; i < 300; ++i) {
    const bool is_gpipe = i % 3 == 0;
    RandomPipeline pipeline = random_pipeline(random,
                                              parallel::find_schedule(is_gpipe     ? "gpipe"
                                                                      : i % 3 == 1 ? "1f1b"
                                                                                   : "interleaved"),
                                              is_gpipe ? Parts::unequal : Parts::equal);
    pipeline.shape.micro_batches += 5 * pipeline.shape.stages;
    const Makespans makespans(*pipeline.schedule, pipeline.shape, few_pieces);
    fewer += makespans.simulated().size() == 2 ? 1 : 0;
    const double ratio = makespans.of(pipeline.costs) / whole(pipeline);
    const bool is_interleaved = i % 3 == 2;  // few repeat themselves later
    EXPECT_NEAR(ratio, 1, is_interleaved ? 0.03 : 1e-12) << pipeline.text();
    inexact += std::abs(ratio - 1) > 1e-12 ? 1 : 0;
  }
  EXPECT_GT(fewer, 200);
  EXPECT_LE(inexact, 3);
}

TEST(Makespans, AreCloseForTransformers) {
  std::mt19937 random(9);
  for (const char* schedule : {"1f1b", "interleaved", "zero_bubble"}) {
    int exact = 0;
    for (int i = 0; i < 100; ++i) {
      const RandomPipeline pipeline = transformer_pipeline(random, schedule);
      const Makespans makespans(*pipeline.schedule, pipeline.shape, few_pieces);
      ASSERT_EQ(makespans.simulated().size(), 2U) << pipeline.text();
      const double error = makespans.of(pipeline.costs) / whole(pipeline) - 1;
      EXPECT_NEAR(error, 0, 4e-3) << pipeline.text();
      exact += std::abs(error) < 1e-9 ? 1 : 0;
    }
    EXPECT_GE(exact, 90) << schedule;
  }
}

/// Only whole rounds of the stages are left out, which interleaved lists need.
TEST(Makespans, SimulateAsManyAsTheirPiecesAllow) {
  const parallel::PipelineSchedule& schedule = parallel::find_schedule("1f1b");
  EXPECT_EQ(Makespans(schedule, {4, 1, 1001}, 4 * 1001).simulated(), std::vector{1001});
  EXPECT_EQ(Makespans(schedule, {4, 1, 1001}, 480).simulated(), (std::vector{41, 81}));
  EXPECT_EQ(Makespans(schedule, {4, 1, 17}, few_pieces).simulated(), std::vector{17});
  EXPECT_EQ(Makespans(schedule, {4, 1, 21}, few_pieces).simulated(), (std::vector{9, 17}));
}

}  // namespace
}  // namespace dlscale::model
