#include <gtest/gtest.h>

#include <string>

#include "core/base/error.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/parallel/timeline/part_costs.hpp"
#include "tests/model/parallel/random_training.hpp"

/// The order of ranks, and recomputation of some layers, count in the time of a plan.
namespace dlscale::model::parallel_time {
namespace {

std::optional<Strides> strides(const std::string& text) {
  return strides_of(parallel::parse_plan(text));
}

TEST(Strides, AreThoseOfTheOrder) {
  EXPECT_FALSE(strides("data=4,tensor=8,stages=2"));
  EXPECT_FALSE(strides("tensor=8,stages=2,order=tensor/stages/data/context/branches"));
  const auto stages_first =
      strides("data=4,tensor=8,stages=2,order=tensor/stages/context/branches/data").value();
  EXPECT_EQ(stages_first.tensor, 1);
  EXPECT_EQ(stages_first.stages, 8);
  EXPECT_EQ(stages_first.replicas, 16);
  const auto data_first =
      strides("data=4,tensor=8,context=2,order=data/context/tensor/branches/stages").value();
  EXPECT_EQ(data_first.replicas, 1);
  EXPECT_EQ(data_first.context, 4);
  EXPECT_EQ(data_first.tensor, 8);
}

std::string refusal(const std::string& text) {
  try {
    strides(text);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Strides, AreRefusedWhereGroupsAreNotTimed) {
  EXPECT_NE(refusal("data=2,tensor=2,context=2,order=context/tensor/data/branches/stages")
                .find("between context and data"),
            std::string::npos);
  EXPECT_NE(refusal("data=4,tensor=2,experts=2,order=data/tensor/context/branches/stages")
                .find("experts is over 1"),
            std::string::npos);
}

Question dense_question() {
  RandomTrainings random(3);
  Question of = random_question(random);
  of.precision = Precision::half;
  of.shape = {.layers = 16,
              .hidden = 4096,
              .heads = 32,
              .kv_heads = 32,
              .head_width = 128,
              .ffn = 16384,
              .vocabulary = 50257,
              .sequence = 2048};
  of.links = {};
  of.links.gpus = 64;
  of.plan = {.tensor = 8, .data = 8, .micro_batches = 4};
  of.family = &parallel_times().family("modules");
  return of;
}

TEST(Strides, TimeTensorGroupsAcrossNodes) {
  Question of = dense_question();
  const double in_node = seconds(of);
  of.plan.stated_strides = Strides{1, 8, 8, 64};
  EXPECT_EQ(seconds(of), in_node);
  of.plan.stated_strides = Strides{8, 1, 1, 64};
  EXPECT_GT(seconds(of), in_node);
}

TEST(Strides, TimeStagesInANode) {
  Question of = dense_question();
  of.plan = {.tensor = 2, .stages = 4, .data = 8, .micro_batches = 4};
  const double across = iteration_time(setting_of(of), of.plan).stage_message;
  of.plan.stated_strides = Strides{1, 8, 8, 2};
  EXPECT_LT(iteration_time(setting_of(of), of.plan).stage_message, across);
}

TEST(HybridSharding, SharesWithinANode) {
  Question of = dense_question();
  of.plan = {.data = 64, .micro_batches = 1, .zero = 3, .sharded_weights = true};
  const LayerTime all = iteration_time(setting_of(of), of.plan).layer;
  of.plan.zero_group = 64;
  EXPECT_EQ(iteration_time(setting_of(of), of.plan).layer.gather, all.gather);
  of.plan.zero_group = 8;
  const LayerTime near = iteration_time(setting_of(of), of.plan).layer;
  EXPECT_LT(near.gather, all.gather / 2);
  EXPECT_GT(near.scatter, all.scatter);  // shards are also summed over nodes, which goes both ways
  EXPECT_LT(2 * near.gather + near.scatter, 2 * all.gather + all.scatter);
}

TEST(RecomputeShare, CountsTheLayersOfABlock) {
  const auto share = [](const std::string& text) {
    return recompute_share_of(parallel::parse_plan(text), 16);
  };
  EXPECT_EQ(share("recompute=full"), 1);
  EXPECT_EQ(share("stages=4,recompute=block,recompute_layers=1"), 0.25);
  EXPECT_EQ(share("stages=4,recompute=block,recompute_layers=4"), 1);
}

TEST(RecomputeShare, CostsBetweenNothingAndAll) {
  Question of = dense_question();
  const double none = seconds(of);
  of.plan.recompute = parallel::Recompute::full;
  const double full = seconds(of);
  of.plan.recompute = parallel::Recompute::block;
  EXPECT_EQ(seconds(of), full);
  of.plan.recompute_share = 0.25;
  EXPECT_GT(seconds(of), none);
  EXPECT_LT(seconds(of), none + 0.5 * (full - none));
}

}  // namespace
}  // namespace dlscale::model::parallel_time
