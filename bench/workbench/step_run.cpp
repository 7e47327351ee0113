#include "bench/workbench/step_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "backend/comm/together.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using backend::ComputeDevice;
using backend::Tensor;
using backend::TensorDesc;

// Rough sizes after a few iterations of training; for the time they only need to be normal
// floating-point numbers.
constexpr float activation_sigma = 1.0F;
constexpr float parameter_sigma = 0.05F;
constexpr float gradient_sigma = 0.01F;

std::span<std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.data, tensor.desc.layout.bytes};
}

class OperationRun : public StepRun {
 public:
  OperationRun(ComputeDevice& device, const backend::OperationSpec& spec,
               backend::Operation& operation, Pass pass, const OperandValues& values)
      : operation_(&operation),
        pass_(pass),
        reads_gradient_(!std::holds_alternative<SoftmaxCrossEntropy>(spec.layer.kind)),
        memory_(device, spec, operation) {
    for (const Tensor& t : memory_.inputs()) values.fill(device, t, activation_sigma);
    for (const Tensor& t : memory_.parameters()) values.fill(device, t, parameter_sigma);
    values.fill(device, memory_.output_gradient(), gradient_sigma);
    const int classes = spec.layer.input_shapes.front().channels;
    for (std::size_t i = 0; i < memory_.labels().size(); ++i) {
      memory_.labels()[i] = static_cast<std::int32_t>(i) % classes;
    }
    if (pass != Pass::forward) operation.run(Pass::forward, memory_.operands(0));
    const bool masks_before =
        spec.layer.relu && pass == Pass::backward_data && operation.has(Pass::backward_filter);
    if (masks_before) operation.run(Pass::backward_filter, memory_.operands(0));
    device.synchronize();
  }

  void run() override { operation_->run(pass_, memory_.operands(0, same_weights)); }

  [[nodiscard]] std::vector<std::span<std::byte>> produced() const override {
    std::vector<std::span<std::byte>> tensors;
    if (pass_ == Pass::forward) {
      for (const Tensor& input : memory_.inputs()) tensors.push_back(bytes_of(input));
    } else if (reads_gradient_) {
      tensors.push_back(bytes_of(memory_.output_gradient()));
    }
    return tensors;
  }

  [[nodiscard]] std::string implementation() const override {
    return operation_->implementation(pass_);
  }

 private:
  /// Identifies the weights, which stay as the constructor filled them. Only operations that cache
  /// data of their weights (Operation::kept_bytes) use it.
  static constexpr std::uint64_t same_weights = 1;

  backend::Operation* operation_;
  Pass pass_;
  bool reads_gradient_;
  backend::OperationMemory memory_;
};

/// A tensor that owns its memory.
struct OwnedTensor {
  backend::Buffer buffer;
  Tensor tensor;
};

OwnedTensor allocate(ComputeDevice& device, const TensorDesc& desc) {
  backend::Buffer buffer = device.allocate(desc.layout.bytes);
  std::byte* data = buffer.get();
  return {std::move(buffer), {desc, data}};
}

class AccumulateRun : public StepRun {
 public:
  AccumulateRun(ComputeDevice& device, const TensorDesc& gradient, std::size_t consumers,
                const OperandValues& values)
      : device_(&device) {
    EXPECT(consumers >= 2);
    for (std::size_t i = 0; i < consumers; ++i) {
      tensors_.push_back(allocate(device, gradient));
      values.fill(device, tensors_.back().tensor, gradient_sigma);
    }
  }

  void run() override {
    for (std::size_t i = 1; i < tensors_.size(); ++i) {
      device_->accumulate(tensors_[i].tensor, tensors_.front().tensor);
    }
  }

  [[nodiscard]] std::vector<std::span<std::byte>> produced() const override {
    return {bytes_of(tensors_.back().tensor)};
  }

  [[nodiscard]] std::string implementation() const override {
    return fmt::format("{} accumulate", device_->name());
  }

 private:
  ComputeDevice* device_;
  std::vector<OwnedTensor> tensors_;
};

class RotatingRun : public StepRun {
 public:
  explicit RotatingRun(std::vector<std::unique_ptr<StepRun>> runs) : runs_(std::move(runs)) {
    EXPECT(!runs_.empty());
  }

  void run() override {
    runs_[next_]->run();
    next_ = (next_ + 1) % runs_.size();
  }

  [[nodiscard]] std::vector<std::span<std::byte>> produced() const override {
    return runs_[next_]->produced();
  }

  [[nodiscard]] std::string implementation() const override {
    return runs_.front()->implementation();
  }

 private:
  std::vector<std::unique_ptr<StepRun>> runs_;
  std::size_t next_ = 0;
};

std::vector<float> plain_values(ComputeDevice& device, const Tensor& from) {
  std::vector<float> values(static_cast<std::size_t>(from.desc.elements()));
  device.copy(from, {device.plain(from.desc.dims, DType::f32),
                     reinterpret_cast<std::byte*>(values.data())});
  device.synchronize();
  return values;
}

std::unique_ptr<StepRun> make_run(int sets, const std::function<std::unique_ptr<StepRun>()>& make) {
  if (sets == 1) return make();
  std::vector<std::unique_ptr<StepRun>> runs;
  runs.reserve(static_cast<std::size_t>(sets));
  for (int i = 0; i < sets; ++i) runs.push_back(make());
  return make_rotating_run(std::move(runs));
}

}  // namespace

std::unique_ptr<StepRun> make_operation_run(ComputeDevice& device,
                                            const backend::OperationSpec& spec,
                                            backend::Operation& operation, Pass pass,
                                            const OperandValues& values) {
  return std::make_unique<OperationRun>(device, spec, operation, pass, values);
}

std::unique_ptr<StepRun> make_accumulate_run(ComputeDevice& device, const TensorDesc& gradient,
                                             std::size_t consumers, const OperandValues& values) {
  return std::make_unique<AccumulateRun>(device, gradient, consumers, values);
}

std::unique_ptr<StepRun> make_rotating_run(std::vector<std::unique_ptr<StepRun>> runs) {
  return std::make_unique<RotatingRun>(std::move(runs));
}

Bytes accumulate_copies(const TensorDesc& gradient) {
  return Bytes(3 * sizeof(float) * static_cast<double>(gradient.elements()));
}

double accumulate_error(ComputeDevice& device, const TensorDesc& gradient,
                        const OperandValues& values) {
  const OwnedTensor value = allocate(device, gradient);
  const OwnedTensor into = allocate(device, gradient);
  values.fill(device, value.tensor, activation_sigma);
  values.fill(device, into.tensor, parameter_sigma);
  const std::vector<float> added = plain_values(device, value.tensor);
  const std::vector<float> before = plain_values(device, into.tensor);
  device.accumulate(value.tensor, into.tensor);
  device.synchronize();
  const std::vector<float> after = plain_values(device, into.tensor);
  double largest = 0;
  double squares = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const double expected = static_cast<double>(before[i]) + static_cast<double>(added[i]);
    const double difference = std::abs(static_cast<double>(after[i]) - expected);
    largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
    squares += expected * expected;
  }
  return largest / std::sqrt(squares / static_cast<double>(after.size()));
}

int operand_sets(const Workbench& workbench, CacheState cache, Bytes each) {
  return cache == CacheState::rotating ? workbench.rotation_sets(each) : 1;
}

Finding find_room(backend::Communicator& communicator, const Workbench& workbench, int sets,
                  const std::function<Bytes()>& each) {
  if (sets == 1) return {};
  return find_on_all(communicator, [&]() -> Finding {
    try {
      expect_memory(workbench.device(), sets * each(), Bytes(), communicator.node_size());
      return {};
    } catch (const Unsupported& error) {
      return {.unsupported =
                  fmt::format("of {} sets of operands in rotation: {}", sets, error.what())};
    }
  });
}

Measurement sample_on_sets(Workbench& workbench, const Sampler& sampler, CacheState cache, int sets,
                           const std::function<std::unique_ptr<StepRun>()>& make) {
  backend::Communicator& ranks = sampler.communicator();
  std::unique_ptr<StepRun> run;
  together(ranks, [&] { run = make_run(sets, make); });
  Measurement measurement =
      workbench.sample(sampler, cache, run->produced(), [&run] { run->run(); });
  if (cache == CacheState::rotating) {
    const std::vector<double> mine{static_cast<double>(sets)};
    measurement.series["operand_sets"] =
        make_series("1", {static_cast<std::size_t>(ranks.size()), mine});
  }
  measurement.implementation = run->implementation();
  return measurement;
}

}  // namespace dlscale::bench
