#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "model/parallel/time/attention.hpp"
#include "model/parallel/time/iteration.hpp"
#include "model/parallel/uncertain/interval.hpp"

/// Times of random plans: finite, and never longer on better hardware.
namespace dlscale::model::parallel_time {
namespace {

class RandomTrainings {
 public:
  double among(std::initializer_list<double> values) {
    return *(values.begin() +
             std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random_));
  }
  bool coin() { return among({0, 1}) == 1; }

  memory::TransformerShape shape() {
    memory::TransformerShape is;
    is.layers = static_cast<std::int64_t>(among({8, 16, 48, 96}));
    is.heads = static_cast<std::int64_t>(among({8, 32, 64}));
    is.kv_heads = coin() ? 8 : is.heads;
    is.head_width = static_cast<std::int64_t>(among({64, 128, 256}));
    is.hidden = is.heads * is.head_width;
    is.ffn = 4 * is.hidden;
    is.gated = coin();
    is.vocabulary = static_cast<std::int64_t>(among({50257, 128256}));
    is.sequence = static_cast<std::int64_t>(among({512, 2048, 32768}));
    is.tied_embeddings = coin();
    if (coin()) is.experts = memory::ExpertShape{64, 6, 1408, coin() ? 2816 : 0, 1};
    if (coin()) is.latent = memory::LatentAttention{coin() ? 1536 : 0, 512, 128, 64, 128};
    return is;
  }

  PlanSizes plan() {
    PlanSizes is;
    is.tensor = among({1, 2, 8, 16});
    is.stages = among({1, 2, 8});
    is.data = among({1, 3, 8, 64});
    is.context = among({1, 1, 2, 4});
    is.experts = among({1, 2, 8});
    is.micro_batch = among({1, 2, 7});
    is.micro_batches = among({1, 4, 32});
    is.chunks = is.stages > 1 ? among({1, 2}) : 1;
    is.zero = static_cast<int>(among({0, 1, 2, 3}));
    is.sequence_parallel = coin();
    is.async_tensor = coin();
    is.sharded_weights = is.zero == 3;
    is.hides_gradients = coin();
    is.both_directions = coin();
    is.zero_bubble = !is.both_directions && coin();
    is.recompute = coin()   ? parallel::Recompute::full
                   : coin() ? parallel::Recompute::selective
                            : parallel::Recompute::none;
    is.gradient_bytes = among({2, 4});
    return is;
  }

  DeviceFacts device() {
    DeviceFacts facts{108, 1.41e9, 2039e9, 312e12, 0, 0, 156e12, 400, 7, 8};
    if (coin()) facts = {132, 1.83e9, 3350e9, 989e12, 1979e12, 0, 495e12, 700, 4, 9};
    if (coin()) facts = {148, 1.855e9, 7700e9, 2250e12, 4500e12, 9000e12, 1100e12, 1000, 4, 10};
    return facts;
  }

  Links links(const PlanSizes& plan) {
    Links is;
    is.gpus = plan.gpus();
    is.node_gpus = among({4, 8, 72});
    is.starts_slowly = coin();
    return is;
  }

  Precision precision() { return static_cast<Precision>(static_cast<int>(among({0, 1, 2, 3, 4}))); }
  const Family& family() {
    const auto& all = parallel_times().families;
    return all[std::uniform_int_distribution<std::size_t>(0, all.size() - 1)(random_)];
  }

 private:
  std::mt19937 random_{5};
};

struct Question {
  DeviceFacts device;
  Precision precision = Precision::half;
  Links links;
  const Family* family = nullptr;
  memory::TransformerShape shape;
  PlanSizes plan;
};

Question random_question(RandomTrainings& random) {
  Question is{random.device(),  random.precision(), {},
              &random.family(), random.shape(),     random.plan()};
  is.links = random.links(is.plan);
  return is;
}

Setting setting_of(const Question& question) {
  const TimeConstants& constants = parallel_times().constants;
  return {constants,
          question.family,
          kernel_on(question.family->attention, question.device.capability, false),
          device_rates(question.device, question.precision, constants),
          Collectives(constants, question.links),
          question.shape};
}

double seconds(const Question& question) {
  return iteration_time(setting_of(question), question.plan).total;
}

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

}  // namespace
}  // namespace dlscale::model::parallel_time
