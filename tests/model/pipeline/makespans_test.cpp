#include "model/parallel/pipeline/makespans.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "core/parallel/schedule/family.hpp"
#include "tests/model/pipeline/random_pipeline.hpp"

/// Makespans that leave out rounds which repeat themselves, against simulations of all.
namespace dlscale::model {
namespace {

constexpr double few_pieces = 1;
constexpr double exact = 1e-9;

Seconds whole(const RandomPipeline& of) {
  return simulate(of.schedule->schedule(of.shape), of.costs).makespan;
}

/// A transformer's pipeline: equal parts, the first with the embedding, the last with the head.
RandomPipeline transformer_pipeline(std::mt19937& random, const char* schedule) {
  std::uniform_real_distribution<double> unit(0, 1);
  const int stages = 2 + static_cast<int>(random() % 15);
  RandomPipeline pipeline{&parallel::find_schedule(schedule), {}, {}};
  const int chunks =
      std::string(schedule) == "interleaved" ? 2 + static_cast<int>(random() % 4) : 1;
  pipeline.shape = {stages, chunks, stages * (10 + static_cast<int>(random() % 20))};
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
    const Makespan found = Makespans(*pipeline.schedule, pipeline.shape).find(pipeline.costs);
    EXPECT_EQ(found.simulated, pipeline.shape.micro_batches);
    EXPECT_EQ(found.time, whole(pipeline)) << pipeline.text();
  }
}

/// Parts that differ by half, with messages of any length, updates and sums of gradients.
TEST(Makespans, AreExactForAllSchedules) {
  std::mt19937 random(5);
  for (const parallel::PipelineSchedule* schedule : family<parallel::PipelineSchedule>().members) {
    if (schedule->name == "gems_mast") continue;  // it takes two micro-batches
    int shortened = 0;
    for (int i = 0; i < 150; ++i) {
      RandomPipeline pipeline =
          random_pipeline(random, *schedule, i % 3 == 0 ? Parts::equal : Parts::unequal);
      pipeline.shape.micro_batches += (20 + i % 5) * pipeline.shape.stages;
      if (i % 4 == 0) {
        pipeline.costs.update.assign(pipeline.costs.forward.size(), Seconds(0.7));
        pipeline.costs.reduce = pipeline.costs.forward;
      }
      const Makespan found = Makespans(*schedule, pipeline.shape, few_pieces).find(pipeline.costs);
      EXPECT_NEAR(found.time / whole(pipeline), 1, exact) << pipeline.text();
      shortened += found.simulated < pipeline.shape.micro_batches ? 1 : 0;
    }
    EXPECT_GT(shortened, 100) << schedule->name;
  }
}

TEST(Makespans, AreExactForTransformersByFewMicroBatches) {
  std::mt19937 random(9);
  for (const char* schedule : {"1f1b", "interleaved", "zero_bubble"}) {
    int shortened = 0;
    for (int i = 0; i < 100; ++i) {
      const RandomPipeline pipeline = transformer_pipeline(random, schedule);
      const Makespan found =
          Makespans(*pipeline.schedule, pipeline.shape, few_pieces).find(pipeline.costs);
      EXPECT_NEAR(found.time / whole(pipeline), 1, exact) << pipeline.text();
      shortened += found.simulated < pipeline.shape.micro_batches ? 1 : 0;
    }
    EXPECT_GE(shortened, 90) << schedule;
  }
}

/// Thousands of micro-batches of 32 unequal stages: what the default number of pieces leaves out.
TEST(Makespans, AreExactAboveTheUsualNumberOfPieces) {
  std::mt19937 random(12);
  std::uniform_real_distribution<double> unit(0, 1);
  int shortened = 0;
  for (const char* schedule : {"1f1b", "interleaved", "zero_bubble", "gpipe"}) {
    for (const double spread : {0.0, 0.1, 0.3}) {
      RandomPipeline pipeline{&parallel::find_schedule(schedule), {32, 1, 2048}, {}};
      if (pipeline.schedule->name == "interleaved") pipeline.shape = {16, 2, 2048};
      for (int part = 0; part < 32; ++part) {
        pipeline.costs.forward.emplace_back(1 + spread * (2 * unit(random) - 1));
        pipeline.costs.backward.emplace_back(2 + 2 * spread * (2 * unit(random) - 1));
        pipeline.costs.backward_weights.emplace_back(0.4 * pipeline.costs.backward.back());
        if (part < 31) pipeline.costs.boundary.emplace_back(0.05);
      }
      const Makespan found = Makespans(*pipeline.schedule, pipeline.shape).find(pipeline.costs);
      EXPECT_NEAR(found.time / whole(pipeline), 1, exact) << pipeline.text() << ' ' << spread;
      shortened += found.simulated < 300 ? 1 : 0;
    }
  }
  EXPECT_GE(shortened, 11);  // of 12
}

}  // namespace
}  // namespace dlscale::model
