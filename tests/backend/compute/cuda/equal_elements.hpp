#pragma once
#include <cmath>
#include <vector>

#include "tests/backend/compute/layers.hpp"

namespace dlscale::backend {

/// The input gradient of a layer whose input consists of -1, 0 and 1, so that windows have several
/// elements that are their largest. All sums are whole numbers, which every precision has.
inline std::vector<float> gradient_of_equal_elements(ComputeDevice& device,
                                                     const OperationSpec& spec) {
  const auto operation = device.create(spec);
  const OperationMemory memory(device, spec, *operation);
  const auto fill = [&](const Tensor& tensor, float largest, unsigned seed) {
    std::vector<float> values = shuffled(tensor.desc.elements(), seed);
    for (float& value : values) value = std::round(largest * value);
    write(device, values, tensor);
  };
  fill(memory.inputs()[0], 1, 1);
  fill(memory.output_gradient(), 4, 2);
  operation->run(Pass::forward, memory.operands(0));
  operation->run(Pass::backward_data, memory.operands(0));
  return read(device, memory.input_gradients()[0]);
}

/// Max poolings to ask about.
inline std::vector<Layer> max_poolings() {
  const ImageShape image{16, 12, 11};
  return {make_layer(Pooling{.kernel_h = 2, .kernel_w = 2, .stride = 2}, {image}),
          make_layer(Pooling{.kernel_h = 3, .kernel_w = 3, .stride = 2, .pad = 1}, {image})};
}

}  // namespace dlscale::backend
