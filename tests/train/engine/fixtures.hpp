#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "train/data/data.hpp"
#include "train/data/random.hpp"
#include "train/engine/program.hpp"

namespace dlscale::train {

/// Convolutions, pooling and fully connected layers in a row; no image depends on another.
inline Network chain_network() {
  return {
      "chain",
      {3, 8, 8},
      {{"conv1", Convolution{.out_channels = 5, .kernel_h = 3, .kernel_w = 3, .pad = 1}, {"input"}},
       {"relu1", Relu{}, {"conv1"}},
       {"pool1", Pooling{.kernel_h = 2, .kernel_w = 2, .stride = 2}, {"relu1"}},
       {"conv2", Convolution{.out_channels = 6, .kernel_h = 3, .kernel_w = 3}, {"pool1"}},
       {"relu2", Relu{}, {"conv2"}},
       {"fc", FullyConnected{.outputs = 4}, {"relu2"}},
       {"loss", SoftmaxCrossEntropy{}, {"fc"}}}};
}

/// Everything that makes gradients meet: fan-out of a layer, of a sum and of the images, a sum of
/// sums, a sum of one layer with itself, concat, two losses; and every kind of layer.
inline Network branched_network() {
  const Convolution same{.out_channels = 4, .kernel_h = 3, .kernel_w = 3, .pad = 1};
  const Convolution point{.out_channels = 4, .kernel_h = 1, .kernel_w = 1, .bias = false};
  const Pooling average{
      .kind = PoolingKind::average, .kernel_h = 3, .kernel_w = 3, .stride = 2, .pad = 1};
  return {"branched",
          {3, 9, 9},
          {{"stem", same, {"input"}},
           {"norm", BatchNorm{}, {"stem"}},
           {"relu", Relu{}, {"norm"}},
           {"left", same, {"relu"}},
           {"right", point, {"relu"}},
           {"sum1", Sum{}, {"left", "right", "relu"}},
           {"sum2", Sum{}, {"sum1", "right"}},
           {"lrn", Lrn{.size = 3, .alpha = 0.1}, {"sum2"}},
           {"direct", same, {"input"}},
           {"concat", Concat{}, {"lrn", "direct", "sum2"}},
           {"pool", average, {"concat"}},
           {"drop", Dropout{.probability = 0.25}, {"pool"}},
           {"fc1", FullyConnected{.outputs = 5}, {"drop"}},
           {"loss1", SoftmaxCrossEntropy{.loss_weight = 0.3}, {"fc1"}},
           {"max", Pooling{.kernel_h = 3, .kernel_w = 3, .stride = 3}, {"sum2"}},
           {"norm2", BatchNorm{}, {"max"}},
           {"fc2", FullyConnected{.outputs = 5, .bias = false}, {"norm2"}},
           {"loss2", SoftmaxCrossEntropy{}, {"fc2"}}}};
}

inline std::unique_ptr<backend::ComputeDevice> open_backend(std::string_view name) {
  const auto* found = family<backend::ComputeBackend>().find(name);
  EXPECT(found != nullptr);
  return found->open({});
}

/// A batch in memory of its own.
struct OwnBatch {
  OwnBatch(ImageShape shape, int count)
      : images(static_cast<std::size_t>(shape.elements() * count)) {
    labels.resize(static_cast<std::size_t>(count));
  }
  OwnBatch(const OwnBatch&) = delete;
  OwnBatch& operator=(const OwnBatch&) = delete;
  ~OwnBatch() = default;
  const Batch& view() {
    batch.images = images;
    batch.labels = labels;
    return batch;
  }
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  Batch batch;
};

/// Image `index` of an endless set: noise around a constant that depends on the class, so that a
/// network can learn it. The class goes round.
inline void fill_image(std::uint64_t index, int classes, std::span<float> image,
                       std::int32_t& label) {
  label = static_cast<std::int32_t>(index % static_cast<std::uint64_t>(classes));
  for (std::size_t i = 0; i < image.size(); ++i) {
    const double sign =
        (i / 7 + static_cast<std::size_t>(label)) % static_cast<std::size_t>(classes) == 0 ? 1
                                                                                           : -0.5;
    image[i] = static_cast<float>(sign + 0.5 * standard_normal(index, i));
  }
}

/// Batches whose union over ranks is the batch that one rank with all images would get.
class MadeData {
 public:
  MadeData(const Network& network, int batch, Rank rank = 0, int ranks = 1)
      : batch_(network.input(), batch),
        classes_(network.classes()),
        first_(static_cast<std::uint64_t>(rank * batch)),
        step_(static_cast<std::uint64_t>(ranks * batch)) {}

  const Batch& next() {
    const std::size_t size = batch_.images.size() / batch_.labels.size();
    for (std::size_t i = 0; i < batch_.labels.size(); ++i) {
      fill_image(first_ + i, classes_, std::span(batch_.images).subspan(i * size, size),
                 batch_.labels[i]);
    }
    first_ += step_;
    return batch_.view();
  }

 private:
  OwnBatch batch_;
  int classes_;
  std::uint64_t first_;
  std::uint64_t step_;
};

/// One thread a rank of a group inside this process.
inline void on_ranks(int ranks, const std::function<void(backend::Communicator&)>& work) {
  auto group = backend::local_group(ranks);
  std::vector<std::jthread> threads;
  threads.reserve(group.size());
  for (auto& communicator : group) threads.emplace_back([&] { work(*communicator); });
}

/// |a - b| / |b|
inline double relative_difference(std::span<const float> a, std::span<const float> b) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return a.size() == b.size() ? std::sqrt(difference / size) : HUGE_VAL;
}

/// Forward and backward of one batch, without exchange or update.
inline double run_once(Program& program, const Batch& batch, std::uint64_t iteration = 0) {
  program.set_input(batch.images, batch.labels);
  for (const Step step : program.forward_steps()) program.run(step, iteration);
  const double loss = program.loss();
  for (const Step step : program.backward_steps()) program.run(step, iteration);
  program.synchronize();
  return loss;
}

}  // namespace dlscale::train
