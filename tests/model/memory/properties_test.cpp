#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "model/memory/kept_activations.hpp"
#include "model/memory/library_memory.hpp"
#include "model/memory/plan_setup.hpp"
#include "model/memory/rank_memory.hpp"
#include "model/memory/state_memory.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model::memory {
namespace {

class RandomTraining {
 public:
  explicit RandomTraining(unsigned seed) : random_(seed) {}

  TransformerShape shape() {
    TransformerShape shape;
    shape.layers = 8 * pick(1, 12);
    shape.heads = 8 * pick(1, 16);
    shape.kv_heads = pick(0, 1) == 0 ? 8 : shape.heads;
    shape.head_width = 64;
    shape.hidden = shape.heads * shape.head_width;
    shape.ffn = 4 * shape.hidden;
    shape.gated = pick(0, 1) == 1;
    shape.vocabulary = 1000 * pick(1, 200);
    shape.sequence = 512 * pick(1, 32);
    if (pick(0, 3) == 0) shape.experts = {.count = 64, .active = 4, .ffn = 512, .shared_ffn = 512};
    return shape;
  }

  MemorySetup setup() {
    MemorySetup setup;
    setup.data = power(4);
    setup.tensor = power(3);
    setup.sequence_parallel = pick(0, 1) == 1;
    setup.context = power(2);
    setup.stages = power(3);
    setup.schedule = pick(0, 1) == 1 ? "gpipe" : "1f1b";
    setup.zero = pick(0, 3);
    setup.micro_batch = power(3);
    setup.micro_batches = power(5);
    setup.recompute = static_cast<Recompute>(pick(0, 3));
    setup.fused_attention = pick(0, 1) == 1;
    setup.dropout = pick(0, 1) == 1;
    return setup;
  }

  Implementation way() {
    constexpr std::array<const char*, 4> names = {"megatron", "nanotron", "torchtitan", "modules"};
    return implementation_named(names[static_cast<std::size_t>(pick(0, 3))]);
  }

 private:
  int pick(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }
  int power(int most) { return 1 << pick(0, most); }
  std::mt19937 random_;
};

constexpr unsigned trainings = 500;

double most_of(const TransformerShape& shape, const MemorySetup& setup, const Implementation& way,
               MemoryCounter counter = MemoryCounter::reserved) {
  return rank_memory(shape, setup, way).worst(counter).peak_bytes(counter);
}

/// Calls `compare(before, after)` with the memory of random trainings and of each after `change`.
template <class Change, class Compare>
void for_random(const Change& change, const Compare& compare) {
  for (unsigned seed = 0; seed < trainings; ++seed) {
    RandomTraining random(seed);
    TransformerShape shape = random.shape();
    MemorySetup setup = random.setup();
    const Implementation way = random.way();
    const double before = most_of(shape, setup, way, MemoryCounter::allocated);
    change(shape, setup);
    SCOPED_TRACE(seed);
    compare(before, most_of(shape, setup, way, MemoryCounter::allocated));
  }
}

constexpr double equal = 1 + 1e-9;
const auto expect_less = [](double before, double after) { EXPECT_LE(after, before * equal); };
const auto expect_more = [](double before, double after) { EXPECT_GE(after * equal, before); };

TEST(MemoryProperties, LongerSequencesAndLargerBatchesNeverNeedLess) {
  for_random([](TransformerShape& shape, MemorySetup&) { shape.sequence *= 2; }, expect_more);
  for_random([](TransformerShape&, MemorySetup& setup) { setup.micro_batch *= 2; }, expect_more);
  for_random([](TransformerShape&, MemorySetup& setup) { setup.micro_batches *= 2; }, expect_more);
}

TEST(MemoryProperties, LargerNetworksNeverNeedLess) {
  for_random([](TransformerShape& shape, MemorySetup&) { shape.layers *= 2; }, expect_more);
  for_random([](TransformerShape& shape, MemorySetup&) { shape.ffn *= 2; }, expect_more);
  for_random([](TransformerShape& shape, MemorySetup&) { shape.vocabulary *= 2; }, expect_more);
}

TEST(MemoryProperties, MoreShardingNeverNeedsMore) {
  for_random([](TransformerShape&, MemorySetup& setup) { setup.data *= 2; }, expect_less);
  for_random([](TransformerShape&, MemorySetup& setup) { setup.context *= 2; }, expect_less);
  for_random([](TransformerShape&, MemorySetup& setup) { setup.tensor *= 2; }, expect_less);
}

TEST(MemoryProperties, EachStageOfZeroKeepsLessStates) {
  for (unsigned seed = 0; seed < trainings; ++seed) {
    RandomTraining random(seed);
    const TransformerShape shape = random.shape();
    MemorySetup setup = random.setup();
    double before = INFINITY;
    for (setup.zero = 0; setup.zero <= 3; ++setup.zero) {
      const MemoryParts parts =
          rank_memory(shape, setup, live_tensors()).stages[0].parts(MemoryMoment::update);
      const double states = parts[MemoryKind::weights] + parts[MemoryKind::gradients] +
                            parts[MemoryKind::main_weights] + parts[MemoryKind::moments];
      EXPECT_LE(states, before * equal) << seed;
      before = states;
    }
  }
}

TEST(MemoryProperties, RecomputingKeepsLess) {
  for (unsigned seed = 0; seed < trainings; ++seed) {
    RandomTraining random(seed);
    const TransformerShape shape = random.shape();
    MemorySetup setup = random.setup();
    const auto kept = [&](Recompute recompute) {
      setup.recompute = recompute;
      return rank_memory(shape, setup, live_tensors())
          .stages[0]
          .parts(MemoryMoment::backward)[MemoryKind::activations];
    };
    EXPECT_LE(kept(Recompute::selective), kept(Recompute::none) * equal) << seed;
    EXPECT_LE(kept(Recompute::full), kept(Recompute::selective) * equal) << seed;
    EXPECT_LE(kept(Recompute::full), kept(Recompute::operators) * equal) << seed;
  }
}

/// One token of one layer, where a framework keeps what products read in 8 bits or does not.
struct KeptToken {
  TransformerShape shape{
      .hidden = 64, .heads = 4, .kv_heads = 2, .head_width = 16, .ffn = 256, .gated = true};
  MemorySetup setup{.operand = 1};
  Implementation way = implementation_named("megatron");
  [[nodiscard]] double bytes() const {
    const double scores = 4.0 * static_cast<double>(shape.heads);
    return kept_activations(shape, setup, way, 0) - scores;
  }
};

/// By hand: two norms' inputs in 16 bits and their results in 8; queries, keys, values and result
/// in 16; both inputs of the gate in 16 and its result in 8.
TEST(KeptActivations, AreFewerBitsWhereOperandsAreKept) {
  KeptToken kept;
  EXPECT_EQ(kept.bytes(), 64 * (2 * 2 + 2 * 1) + 2 * (64 + 64 + 2 * 32) + 256 * (2 * 2 + 1));
  kept.setup.operand = 0.5;
  EXPECT_EQ(kept.bytes(), 64 * 5 + 2 * (64 + 64 + 2 * 32) + 256 * 4.5);
  kept.shape.gated = false;
  EXPECT_EQ(kept.bytes(), 64 * 5 + 2 * (64 + 64 + 2 * 32) + 256 * 2.5);
  kept.shape.gated = true;
  for (const char* in_16_bits : {"torchtitan", "fsdp", "modules", "nanotron"}) {
    kept.way = implementation_named(in_16_bits);
    const double few = kept.bytes();
    kept.setup.operand = 0;
    EXPECT_EQ(few, kept.bytes()) << in_16_bits;
    kept.setup.operand = 1;
  }
}

/// A router keeps what the norm gives it in 16 bits, and experts keep their rows in 8.
TEST(KeptActivations, OfExpertsKeepWhatTheRouterReads) {
  KeptToken kept;
  kept.shape.experts = {.count = 8, .active = 2, .ffn = 128, .shared_ffn = 32};
  const double router = 4 * 8;
  EXPECT_EQ(kept.bytes(), 64 * (3 * 2 + 1) + 2 * (64 + 64 + 2 * 32) + 2 * (64 + 128 * (2 * 2 + 1)) +
                              32 * (2 * 2 + 1) + router);
}

/// Queries and keys cast the layer's input each, and both ranks are kept before and after a norm.
TEST(KeptActivations, OfLatentAttentionCastTheirInputTwice) {
  KeptToken kept;
  kept.shape.latent = {.query_rank = 24,
                       .key_value_rank = 8,
                       .plain_width = 16,
                       .turned_width = 8,
                       .value_width = 16};
  const double attention = (24 + 8) * (2 + 1) + 2 * 4 * (2 * 24 + 2 * 16);
  EXPECT_EQ(kept.bytes(), 64 * (2 * 2 + 3 * 1) + attention + 256 * (2 * 2 + 1));
}

TEST(MemoryProperties, OffloadedActivationsAreNotKept) {
  for (unsigned seed = 0; seed < trainings; ++seed) {
    RandomTraining random(seed);
    const TransformerShape shape = random.shape();
    MemorySetup setup = random.setup();
    const auto kept = [&](double offloaded) {
      setup.offloaded = offloaded;
      return rank_memory(shape, setup, live_tensors())
          .stages[0]
          .parts(MemoryMoment::backward)[MemoryKind::activations];
    };
    const double all = kept(0);
    EXPECT_NEAR(kept(0.25), 0.75 * all, 1e-9 * all) << seed;
  }
}

TEST(MemoryProperties, CopiesOfWeightsAreThoseOfLayersUnlessTheyAreSharded) {
  for (unsigned seed = 0; seed < trainings; ++seed) {
    RandomTraining random(seed);
    const TransformerShape shape = random.shape();
    MemorySetup setup = random.setup();
    const auto weights = [&](double copies) {
      setup.operand_weights = copies;
      const StageMemory first = rank_memory(shape, setup, live_tensors()).stages[0];
      return std::pair{first.parts(MemoryMoment::update)[MemoryKind::weights], first.weight_copies};
    };
    const double layers = static_cast<double>(shape.layers) / setup.stages;
    const RankParameters held = layer_parameters(shape, setup.tensor, setup.experts, 0, layers);
    const double copies = setup.zero < 3 ? 2 * held.total() : 0;
    const auto [without, none] = weights(0);
    const auto [with, kept] = weights(2);
    EXPECT_NEAR(with - without, copies, 1e-6 * without) << seed;
    EXPECT_NEAR(kept, copies, 1e-6 * without) << seed;
    EXPECT_EQ(none, 0) << seed;
  }
}

TEST(MemoryProperties, IntervalsHoldTheirEstimateAndKindsAddUp) {
  for (unsigned seed = 0; seed < trainings; ++seed) {
    RandomTraining random(seed);
    const TransformerShape shape = random.shape();
    const MemorySetup setup = random.setup();
    const RankMemory memory = rank_memory(shape, setup, random.way());
    for (const StageMemory& stage : memory.stages) {
      const MemoryEstimate peak = memory.peak(stage.stage, MemoryCounter::device);
      EXPECT_LE(peak.low, peak.bytes) << seed;
      EXPECT_LE(peak.bytes, peak.high) << seed;
      EXPECT_TRUE(std::isfinite(peak.high)) << seed;
      for (const MemoryParts& parts : stage.at) {
        for (const double bytes : parts.bytes) EXPECT_GE(bytes, 0) << seed;
      }
      EXPECT_LE(stage.peak_bytes(MemoryCounter::allocated),
                stage.peak_bytes(MemoryCounter::reserved))
          << seed;
      EXPECT_LT(stage.peak_bytes(MemoryCounter::reserved), stage.peak_bytes(MemoryCounter::device))
          << seed;
    }
  }
}

/// Libraries have a range of their own, which a device's interval has and an allocator's has not.
TEST(MemoryProperties, LibrariesWidenTheIntervalOfADevice) {
  RandomTraining random(2);
  MemorySetup setup = random.setup();
  setup.tensor = 2;
  const RankMemory memory = rank_memory(random.shape(), setup, random.way());
  const MemoryEstimate device = memory.peak(0, MemoryCounter::device);
  const MemoryEstimate reserved = memory.peak(0, MemoryCounter::reserved);
  const LibraryMemory libraries = library_memory(setup.axes());
  EXPECT_GE(setup.axes(), 1);
  EXPECT_NEAR(device.bytes - reserved.bytes, libraries.bytes, 1);
  EXPECT_NEAR(device.low - reserved.low, libraries.low, 1);
  EXPECT_NEAR(device.high - reserved.high, libraries.high, 1);
}

TEST(MemoryProperties, VerdictFollowsTheDevice) {
  RandomTraining random(1);
  const RankMemory memory = rank_memory(random.shape(), random.setup(), random.way());
  const double need = memory.worst(MemoryCounter::device).peak_bytes(MemoryCounter::device);
  const MemoryVerdict enough = fits(memory, 1.01 * need);
  EXPECT_TRUE(enough.fits);
  EXPECT_FALSE(enough.is_sure);
  EXPECT_NEAR(enough.margin, 0.01 * need, 1e-6 * need);
  EXPECT_FALSE(fits(memory, 0.99 * need).fits);
  EXPECT_TRUE(fits(memory, 10 * need).is_sure);
}

TEST(MemoryProperties, RefusesStagesThatDoNotAddUp) {
  MemorySetup setup;
  setup.stages = 2;
  setup.stage_layers = {3, 4};
  EXPECT_NE(dlscale::test::config_error([&] { (void)layers_of_stages(setup, 8); }), "");
  setup.stage_layers = {3, 5};
  EXPECT_EQ(layers_of_stages(setup, 8), (std::vector<double>{3, 5}));
  setup.schedule = "zigzag";
  EXPECT_NE(dlscale::test::config_error([&] { (void)live_layers(setup, 0, 3); }), "");
}

TEST(MemoryProperties, ImplementationsHaveNames) {
  for (const char* name : {"nanotron", "torchtitan", "megatron", "fsdp", "modules"}) {
    EXPECT_EQ(implementation_named(name).name, name);
  }
  const std::string error = dlscale::test::config_error([] { (void)implementation_named("nemo"); });
  EXPECT_NE(error.find("Allowed: "), std::string::npos) << error;
}

TEST(MemoryProperties, PlansBecomeSetups) {
  parallel::ParallelPlan plan;
  plan.data = 4;
  plan.stages = 2;
  plan.chunks = 2;
  plan.schedule = "interleaved";
  plan.stage_layers = {1, 2, 3, 4};
  plan.zero = 1;
  plan.zero_group = 2;
  plan.recompute = parallel::Recompute::block;
  plan.recompute_layers = 1;
  const MemorySetup setup = setup_of_plan(plan, {.micro_batch = 3, .micro_batches = 8});
  EXPECT_EQ(setup.stage_layers, (std::vector<double>{4, 6}));
  EXPECT_EQ(setup.shards(), 2);
  EXPECT_EQ(setup.micro_batch, 3);
  EXPECT_EQ(setup.bytes.moments, 4);  // momentum in f32
  plan.branches = 2;
  EXPECT_NE(dlscale::test::config_error([&] { (void)setup_of_plan(plan, {}); }), "");
}

/// Recomputing no layer of a block is none, and all of them is full.
TEST(MemoryProperties, BlocksLieBetweenNoneAndFull) {
  RandomTraining random(3);
  const TransformerShape shape = random.shape();
  MemorySetup setup;
  const auto kept = [&](Recompute recompute, int layers) {
    setup.recompute = recompute;
    setup.recompute_layers = layers;
    return rank_memory(shape, setup, live_tensors())
        .stages[0]
        .parts(MemoryMoment::backward)[MemoryKind::activations];
  };
  const auto all = static_cast<int>(shape.layers);
  EXPECT_DOUBLE_EQ(kept(Recompute::block, 0), kept(Recompute::none, 0));
  EXPECT_DOUBLE_EQ(kept(Recompute::block, all), kept(Recompute::full, 0));
  EXPECT_DOUBLE_EQ(kept(Recompute::block, all / 2),
                   (kept(Recompute::none, 0) + kept(Recompute::full, 0)) / 2);
}

/// Micro-batches of the first stage, and the factor of interleaving, by hand.
TEST(MemoryProperties, LayersInFlight) {
  MemorySetup setup;
  setup.stages = 4;
  setup.micro_batches = 8;
  EXPECT_EQ(live_layers(setup, 0, 10), 40);
  EXPECT_EQ(live_layers(setup, 3, 10), 10);
  setup.schedule = "gpipe";
  EXPECT_EQ(live_layers(setup, 3, 10), 80);
  setup.schedule = "interleaved";
  setup.chunks = 2;
  EXPECT_DOUBLE_EQ(live_layers(setup, 0, 10), 40 * (1 + 3.0 / 8));
}

}  // namespace
}  // namespace dlscale::model::memory
