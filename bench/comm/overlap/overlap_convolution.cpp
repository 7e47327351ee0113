#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backend/compute/check/operation_memory.hpp"
#include "bench/comm/overlap/overlap_work.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "train/engine/program_plan.hpp"

namespace dlscale::bench {
namespace {

using backend::ComputeDevice;
using backend::OperationMemory;
using backend::OperationSpec;

// Typical of activations and weights; for the time they only need to be normal floating-point
// numbers.
constexpr float activation_sigma = 1.0F;
constexpr float parameter_sigma = 0.05F;

constexpr int channels = 64;

/// A network of the convolution, after another that gives its input a convolution's layout.
Network make_network() {
  const std::vector<Network::Node> nodes{
      {"before", Convolution{.out_channels = channels, .kernel_h = 1, .kernel_w = 1}, {"input"}},
      {"beside",
       Convolution{.out_channels = channels, .kernel_h = 3, .kernel_w = 3, .pad = 1},
       {"before"}},
      {"pool", Pooling{.kind = PoolingKind::average}, {"beside"}},
      {"classes", FullyConnected{.outputs = 2}, {"pool"}},
      {"loss", SoftmaxCrossEntropy{}, {"classes"}}};
  return {"beside", {channels, 14, 14}, nodes};
}

/// The same spec in f32 and plain order.
OperationSpec plain_spec(const OperationSpec& spec, const ComputeDevice& reference) {
  OperationSpec plain = spec;
  plain.layout.reset();
  for (backend::TensorDesc& input : plain.inputs) {
    input = reference.plain(input.dims, DType::f32);
  }
  return plain;
}

std::vector<float> fetch(ComputeDevice& device, const backend::Tensor& from) {
  std::vector<float> values(static_cast<std::size_t>(from.desc.elements()));
  device.copy(from, {device.plain(from.desc.dims, DType::f32),
                     reinterpret_cast<std::byte*>(values.data())});
  device.synchronize();
  return values;
}

void fill(ComputeDevice& device, const OperationMemory& memory, const OperandValues& values) {
  for (const backend::Tensor& input : memory.inputs()) {
    values.fill(device, input, activation_sigma);
  }
  for (const backend::Tensor& parameter : memory.parameters()) {
    values.fill(device, parameter, parameter_sigma);
  }
  device.synchronize();
}

std::vector<float> reference_answer(ComputeDevice& reference, const OperationSpec& spec,
                                    const OperandValues& values) {
  const OperationSpec plain = plain_spec(spec, reference);
  const auto operation = reference.create(plain);
  const OperationMemory memory(reference, plain, *operation);
  fill(reference, memory, values);
  operation->run(Pass::forward, memory.operands(0));
  reference.synchronize();
  return fetch(reference, memory.output());
}

/// Compares as backend::OperationCheck does.
Finding compare(std::span<const float> found, std::span<const float> expected) {
  double squares = 0;
  for (const float value : expected) squares += static_cast<double>(value) * value;
  const double rms = std::sqrt(squares / static_cast<double>(expected.size()));
  double largest = 0;
  double sum = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double value = expected[i];
    const double error =
        std::abs(static_cast<double>(found[i]) - value) / std::max(std::abs(value), rms);
    sum += error;
    largest =
        std::isfinite(error) ? std::max(largest, error) : std::numeric_limits<double>::infinity();
  }
  return {.error = largest,
          .worst = "the output of the convolution",
          .mean_error = sum / static_cast<double>(expected.size())};
}

class ConvolutionWork : public OverlapWork {
 public:
  explicit ConvolutionWork(std::shared_ptr<Workbench> workbench)
      : workbench_(std::move(workbench)),
        network_(make_network()),
        layer_(network_.layers()[2].id),
        plan_(&workbench_->plan(network_, 1, DType::f32)),
        memory_(workbench_->device(), spec(), operation()),
        expected_(reference_answer(workbench_->reference(), spec(), workbench_->values())) {
    fill(workbench_->device(), memory_, workbench_->values());
  }

  void run() override {
    operation().run(Pass::forward, memory_.operands(0));
    workbench_->device().synchronize();
  }

  void spoil() override {
    const backend::Tensor& output = memory_.output();
    std::fill_n(output.data, output.desc.layout.bytes, std::byte{0x40});
  }

  [[nodiscard]] Finding check() override {
    return compare(fetch(workbench_->device(), memory_.output()), expected_);
  }

  [[nodiscard]] Bytes memory() const override {
    return 3 * work(network_, {layer_, Pass::forward}, 1, DType::f32).bytes;
  }

  [[nodiscard]] std::string implementation() const override {
    return fmt::format("forward of {} ({})", kernel_key(network_, layer_),
                       operation().implementation(Pass::forward));
  }

 private:
  [[nodiscard]] const OperationSpec& spec() const { return plan_->specs[layer_.index()]; }
  [[nodiscard]] backend::Operation& operation() const { return *plan_->operations[layer_.index()]; }

  std::shared_ptr<Workbench> workbench_;
  Network network_;
  LayerId layer_;
  const train::ProgramPlan* plan_;
  OperationMemory memory_;
  std::vector<float> expected_;
};

}  // namespace

std::unique_ptr<OverlapWork> make_overlap_convolution(std::shared_ptr<Workbench> workbench) {
  return std::make_unique<ConvolutionWork>(std::move(workbench));
}

}  // namespace dlscale::bench
