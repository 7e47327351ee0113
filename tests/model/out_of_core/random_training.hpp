#pragma once
#include <algorithm>
#include <cstddef>
#include <random>
#include <string>

#include "model/memory/out_of_core/spilled_training.hpp"

namespace dlscale::model::test {

/// A link of 1 GB/s each way without start-up.
inline HostLink plain_link() {
  return {BytesPerSecond(1e9), BytesPerSecond(1e9), BytesPerSecond(0.4e9), Seconds()};
}

/// A training of random layers and tensors. Sizes are whole numbers of bytes, so that memory in
/// parts of a byte is exact.
inline SpilledTraining random_training(std::mt19937& random, std::size_t layers,
                                       std::size_t tensors) {
  const auto up_to = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
  SpilledTraining training;
  training.name = "random";
  training.fixed = Bytes(10);
  training.update = Seconds(1e-9 * up_to(20));
  for (std::size_t i = 0; i < layers; ++i) {
    training.layers.push_back(
        {Seconds(1e-9 * (1 + up_to(30))), Seconds(1e-9 * (1 + up_to(60))), {}, Bytes(up_to(6))});
  }
  for (std::size_t i = 0; i < tensors; ++i) {
    SpillTensor tensor;
    tensor.name = std::to_string(i);
    tensor.size = Bytes(1 + up_to(25));
    tensor.produced = static_cast<std::size_t>(up_to(static_cast<int>(layers) - 1));
    tensor.released = std::min(layers - 1, tensor.produced + static_cast<std::size_t>(up_to(2)));
    tensor.last_forward = tensor.released;
    tensor.last_backward = tensor.produced;
    tensor.feeds_convolution = up_to(1) == 1;
    tensor.may_move = tensor.released + 1 < layers;
    if (tensor.may_move && up_to(2) == 0) tensor.recompute = Seconds(1e-9 * up_to(20));
    for (std::size_t at = tensor.produced; at <= tensor.released; ++at) {
      training.layers[at].live_forward += tensor.size;
      training.layers[at].live_backward += tensor.size;
    }
    training.layers[tensor.produced].forward_uses.push_back(i);
    training.layers[tensor.released].forward_uses.push_back(i);
    training.layers[tensor.released].backward_uses.push_back(i);
    if (tensor.released != tensor.produced) {
      training.layers[tensor.produced].backward_uses.push_back(i);
    }
    training.tensors.push_back(tensor);
  }
  return training;
}

}  // namespace dlscale::model::test
