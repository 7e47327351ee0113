#include "bench/memory/input_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "bench/together.hpp"
#include "core/error.hpp"

namespace dlscale::bench {
namespace {

/// bf16 keeps 8 bits of the mantissa; f32 is copied as it is.
double allowed_error(DType dtype) {
  return dtype == DType::f32 ? 0 : std::ldexp(1.0, -8);
}

class InputCopy {
 public:
  InputCopy(Workbench& workbench, const InputBatch& input)
      : workbench_(&workbench),
        count_(input.host_bytes() / sizeof(float)),
        host_memory_(workbench.device().allocate(input.host_bytes())) {
    backend::ComputeDevice& device = workbench.device();
    const auto [channels, height, width] = input.shape;
    const std::array<std::int64_t, 4> dims{input.batch, channels, height, width};
    host_ = {device.plain(dims, DType::f32), host_memory_.get()};
    device_.desc = device.plain(dims, input.dtype);
    device_memory_ = device.allocate(device_.desc.layout.bytes);
    device_.data = device_memory_.get();
    workbench.values().fill({host_.as<float>(), count_}, 1.0F);
  }

  void run() {
    workbench_->device().copy(host_, device_);
    workbench_->device().synchronize();
  }

  /// The largest difference of an element, relative to it.
  [[nodiscard]] double error() const {
    double largest = 0;
    for (std::size_t i = 0; i < count_; ++i) {
      const double sent = double{host_.as<float>()[i]};
      const double difference = std::abs(received(i) - sent);
      if (std::isnan(difference)) return HUGE_VAL;
      if (difference > 0) largest = std::max(largest, difference / std::abs(sent));
    }
    return largest;
  }

 private:
  [[nodiscard]] double received(std::size_t i) const {
    if (device_.desc.dtype == DType::f32) return double{device_.as<float>()[i]};
    const std::uint32_t bits = std::uint32_t{device_.as<std::uint16_t>()[i]} << 16U;
    return double{std::bit_cast<float>(bits)};
  }

  Workbench* workbench_;
  std::size_t count_;
  backend::Buffer host_memory_;
  backend::Buffer device_memory_;
  backend::Tensor host_;
  backend::Tensor device_;
};

Measurement check_and_sample(Workbench& workbench, const InputBatch& input,
                             const Sampler& sampler) {
  backend::Communicator& communicator = sampler.communicator();
  std::optional<InputCopy> copy;
  double error = 0;
  together(communicator, [&] {
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
    measurement.status = Status::unsupported;
    measurement.reason = error.what();
  }
  const auto elements = static_cast<double>(input.batch * input.shape.elements());
  const auto element_size = static_cast<double>(sizeof(float) + element_bytes(input.dtype));
  measurement.work = Work{Flops(0), Bytes(elements * element_size)};
  measurement.implementation = fmt::format("{} copy", workbench.device().name());
  return measurement;
}

}  // namespace dlscale::bench
