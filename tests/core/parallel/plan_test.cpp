#include "core/parallel/plan.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config_file.hpp"
#include "core/parallel/plan_text.hpp"
#include "tests/core/support.hpp"

namespace dlscale::parallel {
namespace {

/// Llama 3 70B, with a global batch of 1024 sequences.
NetworkFacts llama() {
  return {.layers = 80,
          .heads = 64,
          .kv_heads = 8,
          .experts = 0,
          .hidden = 8192,
          .ffn = 28'672,
          .sequence = 8192,
          .branches = 0,
          .global_batch = 1024};
}

ParallelPlan read(const ConfigMap& map) {
  return read_plan(map);
}

TEST(Plan, IsADataParallelRunByDefault) {
  const ParallelPlan plan;
  EXPECT_TRUE(faults(plan, 1, {}).empty());
  EXPECT_TRUE(faults(plan, 1, llama()).empty());
  EXPECT_EQ(faults(parse_plan("data=16"), 16, llama()), std::vector<std::string>());
  EXPECT_EQ(to_text(plan), "");
  EXPECT_EQ(batches_of(parse_plan("data=16"), llama()).micro_batch, 64);
  EXPECT_EQ(batches_of(parse_plan("data=16"), llama()).micro_batches, 1);
  EXPECT_EQ(moment_bytes(plan), 4);
}

TEST(Plan, IsReadFromText) {
  const ParallelPlan plan =
      parse_plan("data=8, tensor=4,stages=2,micro_batch=1,schedule=1f1b,zero=1,optimizer=adam");
  EXPECT_EQ(plan.data, 8);
  EXPECT_EQ(plan.tensor, 4);
  EXPECT_EQ(plan.stages, 2);
  EXPECT_EQ(plan.micro_batch, 1);
  EXPECT_EQ(plan.zero, 1);
  EXPECT_EQ(moment_bytes(plan), 8);
  EXPECT_TRUE(faults(plan, 64, llama()).empty());
  EXPECT_EQ(batches_of(plan, llama()).micro_batches, 128);
  EXPECT_EQ(to_text(plan), "data=8,tensor=4,stages=2,micro_batch=1,zero=1,optimizer=adam");
}

TEST(Plan, IsReadFromAFile) {
  const test::TemporaryFolder folder;
  const auto file =
      folder.write("plan.yaml",
                   "data: 8\nstages: 2\nstage_layers: [39, 41]\nsequence_parallel: false\n"
                   "order: [tensor, data, context, branches, stages]\nmaster_bytes: 4\n");
  const ParallelPlan plan = read_plan(ConfigMap::load(file));
  EXPECT_EQ(plan, parse_plan("data=8,stages=2,stage_layers=39/41,master_bytes=4,"
                             "order=tensor/data/context/branches/stages"));
  EXPECT_TRUE(faults(plan, 16, llama()).empty());
}

ParallelPlan random_plan(std::mt19937& random) {
  const auto up_to = [&](int largest) { return static_cast<int>(random() % largest) + 1; };
  ParallelPlan plan;
  plan.data = up_to(9);
  plan.tensor = up_to(9);
  plan.sequence_parallel = random() % 2 == 0;
  if (random() % 2 == 0) plan.tensor_overlap = random() % 2 == 0;
  plan.context = up_to(4);
  plan.experts = up_to(4);
  plan.branches = up_to(4);
  plan.stages = up_to(9);
  plan.chunks = up_to(3);
  if (random() % 2 == 0) plan.stage_layers = {up_to(9), up_to(9), up_to(9)};
  plan.schedule = std::vector<std::string>{"1f1b", "gpipe", "gems_mast"}[random() % 3];
  if (random() % 2 == 0) plan.micro_batch = up_to(4);
  if (random() % 2 == 0) plan.micro_batches = up_to(40);
  plan.zero = up_to(4) - 1;
  if (random() % 2 == 0) plan.zero_group = up_to(9);
  plan.recompute = all_recomputes[random() % all_recomputes.size()];
  plan.recompute_layers = up_to(4) - 1;
  if (random() % 2 == 0) plan.compile = random() % 2 == 0;
  plan.optimizer = all_optimizers[random() % all_optimizers.size()];
  plan.bytes = {up_to(9) / 4.0, up_to(9) / 3.0, up_to(9) / 7.0, up_to(9) * 1.0, {}};
  if (random() % 2 == 0) plan.bytes.moments = up_to(9) * 0.7;
  std::shuffle(plan.order.begin(), plan.order.end(), random);
  return plan;
}

TEST(Plan, IsTheSameOnceWritten) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const ParallelPlan plan = random_plan(random);
    EXPECT_EQ(parse_plan(to_text(plan)), plan) << to_text(plan);
  }
}

struct Refused {
  std::string_view plan;
  std::string_view sentence;
};

TEST(PlanText, RefusesWhatItCannotRead) {
  for (const auto& [plan, sentence] : {
           Refused{"data", "The plan has \"data\" without a value."},
           Refused{"data=8,data=8", "The plan has data twice. Keep one."},
           Refused{"tensr=8", "Did you mean \"tensor\"?"},
           Refused{"data=8.5", "The plan's data: \"8.5\" is not a whole number."},
           Refused{"data=99999999999", "The plan's data: \"99999999999\" is too large."},
           Refused{"tensor=2147483648", "Write a whole number up to 1000000."},
           Refused{"tp=8", "Did you mean \"tensor\"?"},
           Refused{"PP=8", "Did you mean \"stages\"?"},
           Refused{"dp=8", "Did you mean \"data\"?"},
           Refused{"cp=8", "Did you mean \"context\"?"},
           Refused{"ep=8", "Did you mean \"experts\"?"},
           Refused{"tensor_model_parallel_size=8", "Did you mean \"tensor\"?"},
           Refused{"optimizer=adm", "is not a kind of optimizer. Did you mean \"adam\"?"},
           Refused{"order=data", "names 1 axis. Name all 5"},
           Refused{"stage_layers=1//2", "The plan's stage_layers: \"\" is not a whole number."},
           Refused{"sequence_parallel=yes", "is neither true nor false"},
           Refused{"tensor_overlap=1",
                   "The plan's tensor_overlap: \"1\" is neither true nor false"},
           Refused{"tp_comm_overlap=true", "Did you mean \"tensor_overlap\"?"},
           Refused{"schedule=interleave", "Did you mean \"interleaved\"?"},
           Refused{"order=data/tensor", "names 2 axes"},
           Refused{"order=data/tensor/data/stages/width", "\"width\" is not a plan axis"},
           Refused{"weight_bytes=nan", "not a number of bytes"},
           Refused{"data=8,", "The plan has \"\" without a value."},
       }) {
    test::expect_contains(test::config_error([text = plan] { (void)parse_plan(text); }),
                          std::string(sentence));
  }
}

TEST(PlanText, NamesThePlaceInAFile) {
  test::expect_contains(test::config_error([] {
                          test::load_text("tensor: four\n", [](const std::string& file) {
                            return read(ConfigMap::load(file));
                          });
                        }),
                        "/tensor: \"four\" is not a whole number.");
}

TEST(Plan, IsRefusedInOneSentence) {
  for (const auto& [plan, sentence] : {
           Refused{"data=4",
                   "data 4 × tensor 1 × context 1 × branches 1 × stages 1 are 4 ranks, and there "
                   "are 64 devices."},
           Refused{"data=0,stages=64", "data is 0. Write a whole number from 1 to 1000000."},
           Refused{"tensor=6,data=64", "tensor is 6, and the network has 64 attention heads"},
           Refused{"context=3", "context is 3, and the network has 8192 tokens in a sample"},
           Refused{"experts=4", "experts is 4, and the network has no experts. Write 1."},
           Refused{"data=32,tensor=2,experts=2",
                   "experts is 2 and tensor is 2 without sequence_parallel"},
           Refused{"branches=2", "branches is 2, and the network has no branches side by side."},
           Refused{"sequence_parallel=true", "sequence_parallel is true, and tensor is 1"},
           Refused{"tensor_overlap=true", "tensor_overlap is true, and tensor is 1"},
           Refused{"data=8,tensor=8,tensor_overlap=true",
                   "tensor_overlap is true without sequence_parallel"},
           Refused{"stages=3", "stages 3 × chunks 1 are 3 parts of 80 layers"},
           Refused{"stages=2,stage_layers=40/41",
                   "stage_layers add up to 81, and the network has 80 layers."},
           Refused{"stages=2,stage_layers=80",
                   "stage_layers has 1 number, and stages 2 × chunks 1 are 2 parts."},
           Refused{"weight_bytes=0", "weight_bytes is 0."},
           Refused{"data=3", "data 3 × branches 1 share a global batch of 1024 samples"},
           Refused{"data=64,micro_batch=3",
                   "micro_batch is 3, and the share of a global batch of 1024 has 16 samples."},
           Refused{"data=64,micro_batches=32", "micro_batches is 32, and the share"},
           Refused{"data=64,micro_batch=4,micro_batches=2",
                   "micro_batch 4 × micro_batches 2 are 8 samples"},
           Refused{"stages=2,chunks=2,micro_batch=1",
                   "schedule is 1f1b, which takes one chunk per stage, and the plan has 2 stages, "
                   "2 chunks and 1024 micro-batches."},
           Refused{"stages=2,chunks=2,schedule=interleaved",
                   "takes whole multiples of 2 micro-batches"},
           Refused{"stages=4,schedule=gems_mast", "takes 2 micro-batches"},
           Refused{"zero=4", "zero is 4. Write a whole number from 0 to 3."},
           Refused{"zero_group=2", "zero_group is 2, and zero is 0"},
           Refused{"data=64,zero=3,zero_group=3", "zero_group is 3, and data 64 × context 1"},
           Refused{"recompute=block", "recompute is block, and recompute_layers is 0."},
           Refused{"recompute_layers=2", "recompute_layers is 2, and recompute is none."},
           Refused{"stages=8,recompute=block,recompute_layers=11",
                   "recompute_layers is 11, and a part has 10 layers."},
           Refused{"optimizer=lamb", "optimizer is lamb"},
           Refused{"order=data/data/stages/tensor/context", "order names data 2 times."},
       }) {
    bool is_found = false;
    std::string all;
    for (const std::string& fault : faults(parse_plan(plan), 64, llama())) {
      is_found = is_found || fault.find(sentence) != std::string::npos;
      all += fault + "\n";
    }
    EXPECT_TRUE(is_found) << plan << " lacks " << sentence << " in\n" << all;
  }
}

TEST(Plan, KnowsNothingOfWhatIsNotStated) {
  const ParallelPlan plan =
      parse_plan("tensor=3,sequence_parallel=true,context=5,branches=7,stages=11,experts=5");
  EXPECT_TRUE(faults(plan, 1155, {}).empty());
}

TEST(Plan, TakesNoAttentionForCnns) {
  NetworkFacts cnn;
  cnn.heads = 0;
  EXPECT_FALSE(faults(parse_plan("tensor=2"), 2, cnn).empty());
  EXPECT_FALSE(faults(parse_plan("recompute=selective"), 1, cnn).empty());
  EXPECT_TRUE(
      faults(parse_plan("stages=4,schedule=gpipe,micro_batches=8,recompute=full"), 4, cnn).empty());
}

/// Ranks may hold copies of the same keys and values.
TEST(Plan, SharesHeadsOfKeysAndValues) {
  EXPECT_TRUE(faults(parse_plan("tensor=16"), 16, llama()).empty());
  EXPECT_TRUE(faults(parse_plan("tensor=4"), 4, llama()).empty());
}

TEST(Plan, RefusesNumbersThatAreNone) {
  ParallelPlan plan;
  plan.bytes.master = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(faults(plan, 1, {}).size(), 1U);
  plan = {};
  plan.data = plan.tensor = plan.context = plan.branches = plan.stages = 1'000'000;
  EXPECT_FALSE(faults(plan, std::numeric_limits<std::int64_t>::max(), {}).empty());
}

TEST(Plan, ThrowsTheFirstFault) {
  EXPECT_EQ(test::config_error([] { check(parse_plan("zero=4"), 1, {}); }),
            "zero is 4. Write a whole number from 0 to 3.");
  EXPECT_NO_THROW(check(ParallelPlan(), 1, {}));
}

}  // namespace
}  // namespace dlscale::parallel
