#include "tests/backend/compute/layers.hpp"

#include <algorithm>
#include <random>

#include "core/network/layer_shape.hpp"

namespace dlscale::backend {

Layer make_layer(const LayerKind& kind, const std::vector<ImageShape>& inputs) {
  Layer layer{LayerId(inputs.size() + 1), "under_test", kind, {}, inputs, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) layer.inputs.emplace_back(i + 1);
  infer_shape("test", layer);
  return layer;
}

OperationSpec plain_spec(const ComputeDevice& device, const Layer& layer, int batch, DType dtype) {
  OperationSpec spec{layer, batch, dtype, {}};
  for (const ImageShape& shape : layer.input_shapes) {
    spec.inputs.push_back(device.plain({batch, shape.channels, shape.height, shape.width}, dtype));
  }
  return spec;
}

OperationSpec chained_spec(ComputeDevice& device, const Layer& layer, int batch, DType dtype) {
  OperationSpec spec{layer, batch, dtype, {}};
  for (const ImageShape& shape : layer.input_shapes) {
    const Convolution producer{.out_channels = shape.channels, .kernel_h = 1, .kernel_w = 1};
    const Layer before = make_layer(producer, {{16, shape.height, shape.width}});
    spec.inputs.push_back(device.create(plain_spec(device, before, batch, dtype))->output());
  }
  return spec;
}

void write(ComputeDevice& device, const std::vector<float>& values, const Tensor& tensor) {
  std::vector<float> copy = values;
  const TensorDesc plain = device.plain(tensor.desc.dims, DType::f32);
  device.copy({plain, reinterpret_cast<std::byte*>(copy.data())}, tensor);
  device.synchronize();
}

std::vector<float> read(ComputeDevice& device, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.desc.elements()));
  const TensorDesc plain = device.plain(tensor.desc.dims, DType::f32);
  device.copy(tensor, {plain, reinterpret_cast<std::byte*>(values.data())});
  device.synchronize();
  return values;
}

std::vector<float> shuffled(std::int64_t n, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = -1 + (2 * static_cast<float>(i) + 1) / static_cast<float>(n);
  }
  std::shuffle(values.begin(), values.end(), std::mt19937(seed));
  return values;
}

}  // namespace dlscale::backend
