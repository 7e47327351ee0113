#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "core/parallel/grid.hpp"
#include "core/parallel/plan_text.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/memory/rank_memory.hpp"
#include "model/parallel/pipeline/simulation.hpp"
#include "model/parallel/time/layer_messages.hpp"
#include "tests/model/parallel/random_training.hpp"

/// Time and memory of a plan count the same parameters, ranks and micro-batches.
namespace dlscale::model::parallel_time {
namespace {

using memory::MemoryKind;
using memory::MemoryMoment;
using memory::MemorySetup;

constexpr double close = 1e-12;  ///< relative

MemorySetup setup_of(const PlanSizes& plan) {
  MemorySetup setup;
  setup.data = static_cast<int>(plan.data);
  setup.tensor = static_cast<int>(plan.tensor);
  setup.context = static_cast<int>(plan.context);
  setup.experts = static_cast<int>(plan.experts);
  setup.stages = static_cast<int>(plan.stages);
  setup.zero = plan.zero;
  setup.zero_group = static_cast<int>(plan.zero_group);
  return setup;
}

TEST(TimeAndMemory, CountTheSameParameters) {
  RandomTrainings random(70);
  for (int i = 0; i < 2000; ++i) {
    const Question of = random_question(random);
    const MemorySetup setup = setup_of(of.plan);
    const auto layers = static_cast<double>(of.shape.layers);
    const double own = layers / of.plan.stages;
    memory::RankParameters sum;
    for (int stage = 0; stage < setup.stages; ++stage) {
      const auto one = memory::stage_parameters(of.shape, setup, stage, stage * own, own);
      sum.dense += one.dense - one.tables;
      sum.experts += one.experts;
    }
    const memory::RankParameters mean = layer_time(setting_of(of), of.plan).parameters;
    EXPECT_NEAR(layers * mean.dense, sum.dense, close * sum.dense);
    EXPECT_NEAR(layers * mean.experts, sum.experts, close * sum.experts);
  }
}

/// The last stage has a table, as the first one has.
TEST(TimeAndMemory, UpdateTheTableOfEitherEnd) {
  RandomTrainings random(75);
  const std::array<int, 2> more_first{20, 12};
  const std::array<int, 2> more_last{12, 20};
  for (int i = 0; i < 200; ++i) {
    Question of = random_question(random);
    of.shape.layers = 32;
    of.shape.experts.reset();
    of.plan.stages = 2;
    of.plan.chunks = 1;
    of.plan.stage_layers = more_first;
    const IterationTime first = iteration_time(setting_of(of), of.plan);
    of.plan.stage_layers = more_last;
    const IterationTime last = iteration_time(setting_of(of), of.plan);
    EXPECT_NEAR(last.update / first.update, 1, close);
    EXPECT_NEAR(last.exposed_gradients, first.exposed_gradients, close * first.total);
  }
}

TEST(TimeAndMemory, ShardOverTheSameRanks) {
  RandomTrainings random(71);
  for (int i = 0; i < 2000; ++i) {
    PlanSizes plan = random.plan();
    plan.zero_group = random.coin() ? plan.data : 0;
    const MemorySetup setup = setup_of(plan);
    EXPECT_EQ(dense_groups(plan, 8).sharing.ranks, setup.shards());
    EXPECT_EQ(expert_groups(plan, 8).sharing.ranks, memory::expert_shards(setup));
  }
}

/// Ranks of the fullest node, as collectives see a group.
double ranks_in_node(const Group& group, double node_gpus) {
  return std::clamp(std::floor(node_gpus / group.stride + 1e-9), 1.0, group.ranks);
}

void expect_spread(const Group& group, std::vector<Rank> ranks, const std::string& what) {
  std::ranges::sort(ranks);
  const parallel::NodeSpread spread = parallel::spread_over_nodes(ranks, 8);
  EXPECT_EQ(group.ranks, static_cast<double>(ranks.size())) << what;
  EXPECT_EQ(ranks_in_node(group, 8), spread.most_on_node) << what;
  EXPECT_EQ(std::ceil(group.ranks / ranks_in_node(group, 8)), spread.nodes) << what;
}

PlanSizes sizes_of(const parallel::ParallelPlan& plan) {
  PlanSizes sizes;
  sizes.tensor = plan.tensor;
  sizes.data = plan.data;
  sizes.context = plan.context;
  sizes.stages = plan.stages;
  sizes.experts = plan.experts;
  return sizes;
}

TEST(WeightGroups, LieOnTheNodesOfTheGrid) {
  using parallel::Axis;
  for (const char* text : {"data=16", "data=4,tensor=2", "data=2,tensor=8,stages=2",
                           "data=4,context=2,stages=4", "data=2,tensor=4,context=2,stages=2"}) {
    const parallel::ParallelPlan plan = parallel::parse_plan(text);
    const parallel::Grid grid(plan);
    const std::array axes{Axis::data, Axis::context};
    expect_spread(dense_groups(sizes_of(plan), 8).all, grid.group(0, axes), text);
  }
  for (const char* text :
       {"data=16,experts=8", "data=64,experts=4", "data=8,context=4,experts=2"}) {
    const parallel::ParallelPlan plan = parallel::parse_plan(text);
    expect_spread(expert_groups(sizes_of(plan), 8).all, parallel::Grid(plan).expert_copies(0),
                  text);
  }
}

/// Tensor ranks hold whole experts, so that each expert lies on every eighth of 64 ranks.
TEST(WeightGroups, OfExpertsCountTensorRanks) {
  PlanSizes plan;
  plan.tensor = 8;
  plan.data = 8;
  plan.experts = 8;
  const Group group = expert_groups(plan, 8).all;
  EXPECT_EQ(group.ranks, 8);
  EXPECT_EQ(group.stride, 8);
}

/// GEMS: stage 0 and the last one, with all their replicas.
TEST(WeightGroups, OfTwoCopiesHaveTheStageAtTheOtherEnd) {
  using parallel::Axis;
  for (const char* text :
       {"stages=8,schedule=gems_master", "stages=8,tensor=2,schedule=gems_master",
        "stages=4,data=2,schedule=gems_master", "stages=4,data=4,schedule=gems_master",
        "stages=2,data=8,tensor=2,schedule=gems_master",
        "stages=2,tensor=8,schedule=gems_master"}) {
    const parallel::ParallelPlan plan = parallel::parse_plan(text);
    const parallel::Grid grid(plan);
    std::vector<Rank> ranks = grid.group(0, Axis::data);
    parallel::Coordinates other{};
    along(Axis::stages, other) = plan.stages - 1;
    for (const Rank rank : grid.group(grid.rank(other), Axis::data)) ranks.push_back(rank);
    PlanSizes sizes = sizes_of(plan);
    sizes.copies = 2;
    expect_spread(dense_groups(sizes, 8).all, ranks, text);
  }
}

TEST(TimeAndMemory, TwoCopiesSumTheirGradientsWithoutReplicas) {
  RandomTrainings random(72);
  for (int i = 0; i < 500; ++i) {
    Question of = random_question(random);
    of.plan.data = of.plan.context = of.plan.experts = 1;
    of.plan.stages = 8;
    of.plan.chunks = 1;
    EXPECT_EQ(iteration_time(setting_of(of), of.plan).exposed_gradients, 0);
    of.plan.copies = 2;
    EXPECT_GT(iteration_time(setting_of(of), of.plan).exposed_gradients, 0);
  }
}

/// Gathers of Mixtral's experts by 1,024 ranks leave each node eight times: its GPUs hold eight
/// different experts.
TEST(WeightGroups, OfExpertsShareTheNetworkOfTheirNode) {
  RandomTrainings random(73);
  Question of = random_question(random);
  of.links = {.node_gpus = 8, .gpus = 1024, .inside = 450e9, .network = 400e9};
  of.plan = {.data = 1024, .experts = 8, .zero = 3, .sharded_weights = true};
  of.shape.experts = memory::ExpertShape{8, 2, 14336, 0, 0};
  const LayerTime layer = layer_time(setting_of(of), of.plan);
  EXPECT_GE(layer.gather, 2 * layer.parameters.experts * 127 / 128 / (400e9 / 8));
}

/// A training that shards weights over replicas, whose links take `bandwidth` and start at once.
Question sharded_question(RandomTrainings& random) {
  Question of = random_question(random);
  of.plan.zero = 3;
  of.plan.sharded_weights = true;
  of.plan.keeps_gathered_stage = false;
  if (of.plan.replicas() == 1) of.plan.data = 8;
  return of;
}

Setting with_links(const Question& of, double bandwidth) {
  Setting setting = setting_of(of);
  TimeConstants at_once = setting.constants;
  at_once.node_start = at_once.network_start = at_once.slow_network_start = 1e-20;
  setting.collectives = Collectives(
      at_once, {.node_gpus = 8, .gpus = of.plan.gpus(), .inside = bandwidth, .network = bandwidth});
  return setting;
}

constexpr double no_time = 1e25;
constexpr double all_the_time = 1;

/// Links of no time leave the copies: 6 bytes a weight each way, 4 times a gradient, and its cast.
TEST(TimeAndMemory, CopyWhatIsShardedForEachMicroBatch) {
  RandomTrainings random(75);
  for (int i = 0; i < 200; ++i) {
    const Question of = sharded_question(random);
    const Setting setting = with_links(of, no_time);
    const LayerTime alone = layer_without_gathers(setting, of.plan);
    const LayerTime all = with_gathers(setting, of.plan, alone);
    const double byte = setting.constants.shard_copies * alone.parameters.total() /
                        (setting.constants.memory * setting.rates.facts.bandwidth);
    const double backward = of.plan.gradient_bytes > 2 ? 6 + 2 + 5 * 4 : 6 + 4 * 2;
    EXPECT_NEAR(all.layer.forward, alone.layer.forward + 6 * byte, 1e-6 * all.layer.forward);
    EXPECT_NEAR(all.layer.backward, alone.layer.backward + backward * byte,
                1e-6 * all.layer.backward);
  }
}

memory::RankParameters parameters_of(const Question& of, int stage) {
  const double layers = static_cast<double>(of.shape.layers) / of.plan.stages;
  memory::TransformerShape shape = of.shape;
  shape.tied_embeddings = shape.tied_embeddings || of.family->ties_tables;
  const auto all =
      memory::stage_parameters(shape, setup_of(of.plan), stage, stage * layers, layers);
  return {all.dense, all.experts};
}

/// Tables of words are sharded as layers are, so that time grows with their parameters alike.
TEST(TimeAndMemory, CopyAndGatherTablesAsLayers) {
  RandomTrainings random(76);
  for (int i = 0; i < 300; ++i) {
    Question of = sharded_question(random);
    of.plan.stages = of.plan.chunks = 1;
    const memory::RankParameters all = parameters_of(of, 0);
    const Setting quick = with_links(of, no_time);
    Setting without = quick;
    without.constants.shard_copies = 1e-20;
    const double copies =
        iteration_time(quick, of.plan).pipeline - iteration_time(without, of.plan).pipeline;
    const double one = shard_copies(quick, all.total(), of.plan.gradient_bytes).total();
    EXPECT_NEAR(copies / (of.plan.micro_batches * one), 1, 1e-6);

    of.plan.experts = 1;
    of.plan.tensor = 1;
    of.plan.context = 1;
    of.plan.data = 8;
    const Setting slow = with_links(of, all_the_time);
    const memory::RankParameters whole = parameters_of(of, 0);
    const double sent = 2 * gather_time(slow.collectives, of.plan, whole) +
                        scatter_time(slow.collectives, of.plan, whole, of.plan.gradient_bytes);
    EXPECT_NEAR(iteration_time(slow, of.plan).pipeline / (of.plan.micro_batches * sent), 1, 1e-3);
  }
}

/// One table is gathered, copied and scattered, whether the network or the framework ties it.
TEST(TimeAndMemory, TieTablesOfFamiliesAsOfNetworks) {
  RandomTrainings random(79);
  int sharded = 0;
  for (int i = 0; i < 300; ++i) {
    Question of = sharded_question(random);
    of.plan.stages = 1;
    of.shape.tied_embeddings = false;
    Setting setting = setting_of(of);
    const double two = table_time(setting, of.plan).head;
    Family family = *setting.family;
    family.ties_tables = true;
    setting.family = &family;
    const double by_family = table_time(setting, of.plan).head;
    family.ties_tables = false;
    setting.shape.tied_embeddings = true;
    EXPECT_EQ(by_family, table_time(setting, of.plan).head);
    sharded += by_family < two ? 1 : 0;
  }
  EXPECT_GT(sharded, 0);
}

/// A stage that stays gathered is copied once a step, with sums of 4 bytes.
TEST(TimeAndMemory, CopyAGatheredStageOnce) {
  RandomTrainings random(77);
  for (int i = 0; i < 100; ++i) {
    Question of = sharded_question(random);
    of.plan.stages = 2;
    of.plan.chunks = 1;
    of.plan.keeps_gathered_stage = true;
    of.shape.experts.reset();
    of.shape.tied_embeddings = false;
    const Setting setting = with_links(of, no_time);
    const double copies = shard_copies(setting, parameters_of(of, 0).total(), 4).total();
    EXPECT_NEAR(iteration_time(setting, of.plan).exposed_gradients / copies, 1, 1e-6);
  }
}

/// Either a stage's weights are in memory and travel once a step, or two layers' are and each
/// micro-batch gathers them.
TEST(TimeAndMemory, GatherWhatMemoryDoesNotKeep) {
  RandomTrainings random(74);
  int tried = 0;
  for (int i = 0; i < 2000; ++i) {
    Question of = random_question(random);
    of.plan.zero = 3;
    of.plan.sharded_weights = true;
    if (of.plan.stages == 1 || of.plan.replicas() == 1) continue;
    const MemorySetup setup = setup_of(of.plan);
    memory::Implementation way = memory::live_tensors();
    const double stage = static_cast<double>(of.shape.layers) / of.plan.stages;
    const auto parameters = memory::stage_parameters(of.shape, setup, 0, 0, stage);
    for (const bool keeps : {false, true}) {
      way.keeps_gathered_stage = of.plan.keeps_gathered_stage = keeps;
      const double gathered = memory::stage_memory(of.shape, setup, way, 0, 0, stage)
                                  .parts(MemoryMoment::backward)[MemoryKind::gathered];
      const IterationTime time = iteration_time(setting_of(of), of.plan);
      const LayerTime& layer = time.layer;
      const double all = parameters.dense + parameters.experts;
      EXPECT_EQ(time.exposed_gradients > 0, keeps);
      if (keeps) {
        EXPECT_GE(gathered, setup.element * all);
        continue;
      }
      const double two_layers = 2 * (all - parameters.tables) / stage;
      EXPECT_NEAR(gathered, 2 * setup.element * two_layers, close * gathered);
      EXPECT_GE(layer.layer.forward, layer.gather);
      EXPECT_GE(layer.layer.backward, layer.gather + layer.scatter);
    }
    ++tried;
  }
  EXPECT_GT(tried, 500);
}

/// Micro-batches in memory are those that the lists of every schedule hold.
TEST(TimeAndMemory, HoldAsManyMicroBatchesAsSchedulesDo) {
  constexpr double layers = 12;
  int tried = 0;
  for (const parallel::PipelineSchedule* schedule : family<parallel::PipelineSchedule>().members) {
    for (int of = 0; of < 6 * 3 * 13; ++of) {
      const parallel::PipelineShape shape{2 + of % 6, 1 + of / 6 % 3, 1 + of / 18};
      if (!parallel::obstacle(*schedule, shape).empty()) continue;
      const std::vector<Seconds> alike(static_cast<std::size_t>(shape.parts()), Seconds(1));
      const PipelineTime time = simulate(schedule->schedule(shape), {alike, alike, alike});
      MemorySetup setup;
      setup.stages = shape.stages;
      setup.chunks = shape.chunks;
      setup.micro_batches = shape.micro_batches;
      setup.schedule = schedule->name;
      for (int stage = 0; stage < shape.stages; ++stage) {
        EXPECT_DOUBLE_EQ(memory::live_layers(setup, stage, layers),
                         layers / shape.chunks * time.live[static_cast<std::size_t>(stage)])
            << schedule->name << ": stage " << stage << " of " << shape.stages << ", "
            << shape.chunks << " chunks, " << shape.micro_batches << " micro-batches";
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 200);
}

}  // namespace
}  // namespace dlscale::model::parallel_time
