#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>

#include "model/parallel/time/attention.hpp"
#include "model/parallel/time/iteration.hpp"

namespace dlscale::model::parallel_time {

/// Draws parts of trainings; equal seeds give equal ones.
class RandomTrainings {
 public:
  explicit RandomTrainings(unsigned seed = 5) : random_(seed) {}
  double among(std::initializer_list<double> values) {
    return *(values.begin() +
             std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random_));
  }
  std::size_t below(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
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
    is.tensor_overlap = coin()   ? TensorOverlap::none
                        : coin() ? TensorOverlap::pieces
                                 : TensorOverlap::compiled;
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
  std::mt19937 random_;
};

/// A training of one plan on one cluster.
struct Question {
  DeviceFacts device;
  Precision precision = Precision::half;
  Links links;
  const Family* family = nullptr;
  memory::TransformerShape shape;
  PlanSizes plan;
};

inline Question random_question(RandomTrainings& random) {
  Question is{random.device(),  random.precision(), {},
              &random.family(), random.shape(),     random.plan()};
  is.links = random.links(is.plan);
  return is;
}

inline Setting setting_of(const Question& question) {
  const TimeConstants& constants = parallel_times().constants;
  return {constants,
          question.family,
          kernel_on(question.family->attention, question.device.capability, false),
          device_rates(question.device, question.precision, constants),
          Collectives(constants, question.links),
          question.shape};
}

inline double seconds(const Question& question) {
  return iteration_time(setting_of(question), question.plan).total;
}

}  // namespace dlscale::model::parallel_time
