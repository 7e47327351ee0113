#include <gtest/gtest.h>

#include <string>

#include "core/cluster/cluster.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/goodput/parallel_plan.hpp"
#include "model/goodput/training_cost.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/answer/answer.hpp"

namespace dlscale::model::goodput {
namespace {

/// A published training and its hours of GPUs.
struct PublishedHours {
  memory::TransformerShape shape;
  std::int64_t global_batch;
  std::string framework;
  std::string plan;
  std::string cluster;
  int gpus;
  double tokens;
  double hours;
};

TrainingCost cost_of(const PublishedHours& one) {
  parallel_time::ParallelQuestion question;
  question.shape = one.shape;
  question.global_batch = one.global_batch;
  question.framework = one.framework;
  const Cluster cluster = load_cluster(one.cluster);
  const auto hardware = parallel_time::parallel_hardware(cluster, one.gpus);
  const auto& file = parallel_time::parallel_times();
  const auto setting = parallel_time::setting_of(file, question, hardware);
  const auto answer = parallel_time::predict_plan(file, question, hardware, setting,
                                                  parallel::parse_plan(one.plan));
  return training_cost(parallel_plan_question(cluster, question, hardware, answer, one.tokens));
}

double share_of(const PublishedHours& published) {
  return cost_of(published).device_hours.value / published.hours;
}

std::string repeated(const char* text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// BLOOM [arXiv:2211.05100, 3.2 and table 3; hours: arXiv:2211.02001]: 384 A100, 366 billion
/// tokens. The first and the last of 12 stages have a layer less than the others.
TEST(PublishedHours, OfBloomAreFourFifthsComputing) {
  memory::TransformerShape shape;
  shape.layers = 70;
  shape.hidden = 14336;
  shape.heads = shape.kv_heads = 112;
  shape.head_width = 128;
  shape.ffn = 4 * 14336;
  shape.vocabulary = 250880;
  shape.sequence = 2048;
  shape.tied_embeddings = true;
  const std::string plan = "data=8,tensor=4,stages=12,stage_layers=5/" + repeated("6/", 10) +
                           "5,micro_batch=2,zero=1,recompute=full";
  const double share =
      share_of({shape, 2048, "Megatron-DeepSpeed", plan, "dgx_a100", 384, 366e9, 1082990});
  // Published hours count what else a training needs: smaller batches at its start, stops by hand,
  // evaluations and repeated parts. So the prediction is the lower one of both.
  EXPECT_GT(share, 0.75);
  EXPECT_LT(share, 1);
}

/// Llama 3.1 405B [arXiv:2407.21783, 3.3.2 and table 4; hours: its model card]: 16,384 H100, 15.6 T
/// tokens, a layer less on the first and the last stage. Four chunks a stage are assumed.
TEST(PublishedHours, OfLlama3AreWithinTheInterval) {
  memory::TransformerShape shape;
  shape.layers = 126;
  shape.hidden = 16384;
  shape.heads = 128;
  shape.kv_heads = 8;
  shape.head_width = 128;
  shape.ffn = 53248;
  shape.gated = true;
  shape.vocabulary = 128256;
  shape.sequence = 8192;
  const std::string plan =
      "data=128,tensor=8,sequence_parallel=true,stages=16,chunks=4,schedule=interleaved,"
      "stage_layers=1/" +
      repeated("2/", 62) + "1,micro_batch=1,zero=1";
  const PublishedHours published{shape,      2048,  "Megatron", plan,
                                 "dgx_h100", 16384, 15.6e12,    30.84e6};
  EXPECT_NEAR(share_of(published), 1, 0.15);  // its software is not public
  const Uncertain hours = cost_of(published).device_hours;
  EXPECT_LT(hours.low, published.hours);
  EXPECT_GT(hours.high, published.hours);
}

}  // namespace
}  // namespace dlscale::model::goodput
