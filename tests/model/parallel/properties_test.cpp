#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "model/parallel/time/iteration.hpp"
#include "model/parallel/time/layer_messages.hpp"
#include "model/parallel/uncertain/interval.hpp"
#include "tests/model/parallel/random_training.hpp"

/// Times of random plans: finite, and never longer on better hardware.
namespace dlscale::model::parallel_time {
namespace {

void expect_finite(const Question& question) {
  const Setting setting = setting_of(question);
  const IterationTime time = iteration_time(setting, question.plan);
  const LayerTime& layer = time.layer;
  for (const double part : {layer.qkv.forward,
                            layer.qkv.backward,
                            layer.projection.total(),
                            layer.feed_forward.forward,
                            layer.feed_forward.backward,
                            layer.attention.total(),
                            layer.elementwise.total(),
                            layer.host.total(),
                            layer.messages.forward,
                            layer.messages.backward,
                            layer.layer.forward,
                            layer.layer.backward,
                            layer.gather,
                            layer.scatter,
                            time.embedding,
                            time.head,
                            time.stage_message,
                            time.pipeline,
                            time.exposed_gradients,
                            time.update}) {
    ASSERT_TRUE(std::isfinite(part) && part >= 0);
  }
  ASSERT_TRUE(std::isfinite(time.total) && time.total > 0);
  ASSERT_GE(time.pipeline * (1 + 1e-12), question.plan.micro_batches * time.slowest_stage);
  const TimeRange range = time_range(parallel_times().interval, setting, question.plan, time);
  ASSERT_TRUE(range.low > 0 && range.low < 1 && range.high > 1 && std::isfinite(range.high));
}

TEST(ParallelTimeProperties, RandomPlansHaveFiniteTimes) {
  RandomTrainings random;
  for (int i = 0; i < 5000; ++i) expect_finite(random_question(random));
}

TEST(ParallelTimeProperties, BetterHardwareIsNeverSlower) {
  RandomTrainings random;
  const auto expect_faster = [](const Question& question, const char* what, auto change) {
    Question better = question;
    change(better);
    EXPECT_LE(seconds(better), seconds(question) * (1 + 1e-9)) << what;
  };
  for (int i = 0; i < 1000; ++i) {
    const Question question = random_question(random);
    expect_faster(question, "node's link", [](Question& of) { of.links.inside *= 1.7; });
    expect_faster(question, "network", [](Question& of) { of.links.network *= 1.7; });
    expect_faster(question, "quick starts", [](Question& of) { of.links.starts_slowly = false; });
    expect_faster(question, "memory", [](Question& of) { of.device.bandwidth *= 1.3; });
    expect_faster(question, "power", [](Question& of) { of.device.power_w *= 1.3; });
    expect_faster(question, "peaks", [](Question& of) {
      of.device.half_peak *= 1.3;
      of.device.eight_bit_peak *= 1.3;
      of.device.four_bit_peak *= 1.3;
      of.device.wide_peak *= 1.3;
      of.device.clock *= 1.3;
    });
    expect_faster(question, "fewer micro-batches", [](Question& of) {
      of.plan.micro_batches = std::max(1.0, of.plan.micro_batches / 2);
    });
  }
}

TEST(ParallelTimeProperties, TensorRanksCutExpertsThatAreNotSpread) {
  RandomTrainings random(7);
  for (int i = 0; i < 1000; ++i) {
    Question question = random_question(random);
    question.shape.experts = memory::ExpertShape{64, 6, 1408, 0, 0};
    question.plan.experts = 1;
    question.plan.sequence_parallel = false;
    question.plan.tensor = 1;
    const double whole = layer_time(setting_of(question), question.plan).feed_forward.total();
    question.plan.tensor = 8;
    EXPECT_LT(layer_time(setting_of(question), question.plan).feed_forward.total(), whole);
  }
}

/// Time hides messages to experts where Megatron's option can, and nowhere else.
TEST(ParallelTimeProperties, MessagesToExpertsHideWhereTheyCan) {
  RandomTrainings random(8);
  for (int i = 0; i < 200; ++i) {
    Question question = random_question(random);
    question.family = &parallel_times().family("engine");
    question.shape.experts = memory::ExpertShape{64, 6, 1408, 0, 0};
    question.plan.tensor = question.plan.context = question.plan.chunks = 1;
    question.plan.data = question.plan.experts = 8;
    question.plan.both_directions = question.plan.sharded_weights = false;
    question.links.gpus = 64;
    const auto messages = [&](double stages, double chunks, parallel::Recompute recompute) {
      question.plan.stages = stages;
      question.plan.chunks = chunks;
      question.plan.recompute = recompute;
      return layer_time(setting_of(question), question.plan).messages.forward;
    };
    using parallel::Recompute;
    const double hidden = messages(1, 1, Recompute::none);
    const double bare = messages(4, 1, Recompute::none);
    EXPECT_LT(hidden, bare);
    EXPECT_EQ(messages(4, 2, Recompute::selective), hidden);
    for (const Recompute layers : {Recompute::full, Recompute::block}) {
      EXPECT_EQ(messages(1, 1, layers), bare);
    }
  }
}

TEST(ParallelTimeProperties, ShardedGradientsAreSentForEachMicroBatch) {
  RandomTrainings random(6);
  for (int i = 0; i < 2000; ++i) {
    Question question = random_question(random);
    if (question.plan.replicas() == 1 || question.plan.micro_batches == 1) continue;
    question.plan.zero = 2;
    question.plan.sharded_weights = false;
    const Setting setting = setting_of(question);
    const IterationTime time = iteration_time(setting, question.plan);
    const double layers = time.busiest_layers;
    const memory::RankParameters stage{layers * time.layer.parameters.dense,
                                       layers * time.layer.parameters.experts};
    const double scatter =
        scatter_time(setting.collectives, question.plan, stage, question.plan.gradient_bytes);
    EXPECT_GE(time.exposed_gradients * (1 + 1e-9),
              question.plan.micro_batches * (scatter - layers * time.layer.layer.backward));
    if (question.family->one_queue) continue;  // it sums whole gradients with ZeRO 1
    Question whole = question;
    whole.plan.zero = 1;
    EXPECT_GE(time.total * (1 + 1e-9), seconds(whole));
  }
}

}  // namespace
}  // namespace dlscale::model::parallel_time
