#include "bench/memory/input_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "backend/comm/together.hpp"
#include "backend/compute/precision.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/workbench/finding.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

/// Allowed relative error: bf16 has 8 bits of significand and f16 11, for values in its normal
/// range. Other types are copied exactly.
double allowed_error(DType dtype) {
  if (element_bytes(dtype) == sizeof(float)) return 0;
  return std::ldexp(1.0, dtype == DType::f16 ? -11 : -8);
}

class InputCopy {
 public:
  InputCopy(Workbench& workbench, const InputBatch& input)
      : workbench_(&workbench),
        count_(input.host_bytes() / sizeof(float)),
        host_memory_(workbench.device().allocate_on_host(input.host_bytes())) {
    backend::ComputeDevice& device = workbench.device();
    const auto [channels, height, width] = input.shape;
    const std::array<std::int64_t, 4> dims{input.batch, channels, height, width};
    host_ = {device.plain(dims, DType::f32), host_memory_.get()};
    device_.desc = device.plain(dims, input.dtype);
    device_memory_ = device.allocate(device_.desc.layout.bytes);
    device_.data = device_memory_.get();
    workbench.values().fill({host_.as<float>(), count_}, 1.0F);
  }

  void run() { workbench_->device().copy(host_, device_); }

  /// Largest relative error of an element.
  [[nodiscard]] double error() const {
    const std::vector<std::byte> there = fetch();
    double largest = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const double sent = double{host_.as<float>()[i]};
      const double difference = std::abs(received(there, i) - sent);
      if (std::isnan(difference)) return HUGE_VAL;
      if (difference > 0)
        largest = std::max(largest, difference / std::max(std::abs(sent), least()));
    }
    return largest;
  }

 private:
  /// Below the normal numbers of f16, values have fewer bits.
  [[nodiscard]] double least() const { return device_.desc.dtype == DType::f16 ? 0x1p-14 : 0; }
  [[nodiscard]] std::vector<std::byte> fetch() const {
    workbench_->device().synchronize();
    std::vector<std::byte> bytes(device_.desc.layout.bytes);
    workbench_->device().copy_stream()->copy(device_.data, bytes.data(), bytes.size());
    return bytes;
  }
  [[nodiscard]] double received(std::span<const std::byte> there, std::size_t i) const {
    const std::byte* element = there.data() + i * element_bytes(device_.desc.dtype);
    if (element_bytes(device_.desc.dtype) == sizeof(float)) {
      float value = 0;
      std::memcpy(&value, element, sizeof(value));
      return double{value};
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, element, sizeof(bits));
    const bool half = device_.desc.dtype == DType::f16;
    return double{half ? backend::from_half(bits) : backend::from_bfloat16(bits)};
  }

  Workbench* workbench_;
  std::size_t count_;
  backend::Buffer host_memory_;
  backend::Buffer device_memory_;
  backend::Tensor host_;
  backend::Tensor device_;
};

/// Checks memory for both tensors, and on the host for the copy that is compared.
void expect_memory_for(Workbench& workbench, const InputBatch& input, int ranks_on_node) {
  const Bytes sent(static_cast<double>(input.host_bytes()));
  const Bytes received(static_cast<double>(input.device_bytes()));
  const bool apart = workbench.device().own_memory().has_value();
  expect_memory(workbench.device(), apart ? received : sent + received,
                received + (apart ? sent : Bytes(0)), ranks_on_node);
}

Measurement check_and_sample(Workbench& workbench, const InputBatch& input,
                             const Sampler& sampler) {
  backend::Communicator& communicator = sampler.communicator();
  std::optional<InputCopy> copy;
  double error = 0;
  together(communicator, [&] {
    expect_memory_for(workbench, input, communicator.node_size());
    copy.emplace(workbench, input);
    copy->run();
    error = copy->error();
  });
  communicator.all_reduce(std::span(&error, 1), backend::Reduction::max);
  Measurement measurement;
  if (error <= allowed_error(input.dtype)) {
    measurement = workbench.sample(sampler, CacheState::cold, {}, [&copy] { copy->run(); });
  } else {
    measurement.status = Status::wrong;
    measurement.reason =
        fmt::format("an element on the device differs by {:.1e} of its value", error);
  }
  if (std::isfinite(error)) measurement.max_relative_error = error;
  return measurement;
}

}  // namespace

Measurement measure_input_copy(Workbench& workbench, const InputBatch& input,
                               const Sampler& sampler) {
  Measurement measurement;
  try {
    measurement = check_and_sample(workbench, input, sampler);
  } catch (const Unsupported& error) {
    measurement = unsupported(error);
  }
  const auto elements = static_cast<double>(input.batch * input.shape.elements());
  const auto element_size = static_cast<double>(sizeof(float) + element_bytes(input.dtype));
  measurement.work = Work{Flops(0), Bytes(elements * element_size)};
  measurement.implementation = fmt::format("{} copy", workbench.device().name());
  return measurement;
}

}  // namespace dlscale::bench
