#pragma once
#include <cstddef>

#include "bench/engine/benchmark.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/network/network.hpp"

namespace dlscale::bench {

/// A mini-batch from the data pipeline.
struct InputBatch {
  ImageShape shape;
  int batch = 1;
  DType dtype = DType::f32;  ///< of the network's input
  [[nodiscard]] std::size_t host_bytes() const {
    return sizeof(float) * static_cast<std::size_t>(batch * shape.elements());
  }
  [[nodiscard]] std::size_t device_bytes() const {
    return element_bytes(dtype) * static_cast<std::size_t>(batch * shape.elements());
  }
};

/// Measures training's host-to-device copy (train::Program::set_input): from plain f32 in host
/// memory to the input tensor, which is plain, in the network's precision. Neither is in the
/// caches, as loader threads wrote the batch while another was trained on. Checks every element
/// first. The status is `unsupported` if the backend lacks the precision or memory is short.
Measurement measure_input_copy(Workbench& workbench, const InputBatch& input,
                               const Sampler& sampler);

}  // namespace dlscale::bench
