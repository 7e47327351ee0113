#include "backend/compute/cuda/cudnn_layers/pooling_ties.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

using Values = std::vector<float>;

/// Whole numbers up to this one are exact in every precision.
constexpr std::int64_t largest_whole = 256;

void write(ComputeDevice& device, Values values, const Tensor& to) {
  device.copy({device.plain(to.desc.dims, DType::f32), reinterpret_cast<std::byte*>(values.data())},
              to);
  device.synchronize();
}

Values read(ComputeDevice& device, const Tensor& from) {
  Values values(static_cast<std::size_t>(from.desc.elements()));
  device.copy(from, {device.plain(from.desc.dims, DType::f32),
                     reinterpret_cast<std::byte*>(values.data())});
  device.synchronize();
  return values;
}

/// Calls value(plane, row, column) for all elements in plain order.
template <class Value>
Values filled(const Dims& dims, const Value& value) {
  Values values;
  values.reserve(static_cast<std::size_t>(dims[0] * dims[1] * dims[2] * dims[3]));
  for (std::int64_t plane = 0; plane < dims[0] * dims[1]; ++plane) {
    for (std::int64_t row = 0; row < dims[2]; ++row) {
      for (std::int64_t column = 0; column < dims[3]; ++column) {
        values.push_back(static_cast<float>(value(plane, row, column)));
      }
    }
  }
  return values;
}

/// Distinct elements within every window: each place modulo the window has its own number.
Values all_different(const Dims& dims, const Pooling& kind) {
  const std::int64_t window = std::int64_t{kind.kernel_h} * kind.kernel_w;
  return filled(dims, [&](std::int64_t plane, std::int64_t row, std::int64_t column) {
    const std::int64_t place = row % kind.kernel_h * kind.kernel_w + column % kind.kernel_w;
    return (place + 5 * plane) % window;
  });
}

/// Three numbers only, so that most windows have their largest several times.
Values few_numbers(const Dims& dims) {
  return filled(dims, [](std::int64_t plane, std::int64_t row, std::int64_t column) {
    auto bits = static_cast<std::uint64_t>(plane * 7919 + row * 104729 + column + 1);
    bits *= 0x9E3779B97F4A7C15U;
    return static_cast<std::int64_t>(bits >> 40U) % 3;
  });
}

/// Gradient of `input` where each output has the gradient 1.
Values gradient_of(ComputeDevice& device, const OperationSpec& spec, Operation& operation,
                   const Values& input) {
  const OperationMemory memory(device, spec, operation);
  write(device, input, memory.inputs()[0]);
  const auto outputs = static_cast<std::size_t>(operation.output().elements());
  write(device, Values(outputs, 1.0F), memory.output_gradient());
  operation.run(Pass::forward, memory.operands(0));
  operation.run(Pass::backward_data, memory.operands(0));
  return read(device, memory.input_gradients()[0]);
}

double sum(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

void expect_same_ties(ComputeDevice& device, const OperationSpec& spec, Operation& own,
                      Operation& other) {
  const auto& kind = std::get<Pooling>(spec.layer.kind);
  EXPECT(kind.kind == PoolingKind::max);
  const Dims& dims = spec.inputs.front().dims;
  const auto both = [&](const Values& input) {
    return std::pair(gradient_of(device, spec, own, input),
                     gradient_of(device, spec, other, input));
  };
  if (std::int64_t{kind.kernel_h} * kind.kernel_w <= largest_whole) {
    const auto [ours, theirs] = both(all_different(dims, kind));
    if (ours != theirs) return;  // wrong in another way
  }
  const auto [ours, theirs] = both(few_numbers(dims));
  if (ours == theirs) return;
  throw Unsupported(fmt::format(
      "{}: where several elements of a window are equal, {} gives the gradient to {}, and not to "
      "the first alone as our own kernels do.",
      describe(spec), other.implementation(Pass::backward_data),
      sum(ours) == sum(theirs) ? "another one" : "several of them"));
}

}  // namespace dlscale::backend::cuda
