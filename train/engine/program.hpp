#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "train/data/images.hpp"

namespace dlscale::train {

/// A network compiled for one device and batch size: operations with agreed layouts, memory for
/// activations, gradients and parameters, and the steps of core/network/step.hpp made runnable.
/// Parameters, gradients and momenta each lie in one f32 array, layer after layer in the order in
/// which backward finishes them, so that a bucket is one contiguous span.
class Program {
 public:
  /// `device` must outlive the program. Throws Unsupported naming the layer, and ConfigError before
  /// anything is allocated if that would be more than `available`, or than what is free on a device
  /// with memory of its own; before the device tries plans if shapes alone say so.
  Program(const Network& network, backend::ComputeDevice& device, int batch, DType dtype,
          std::optional<Bytes> available = std::nullopt);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const Network& network() const;
  [[nodiscard]] int batch() const;
  [[nodiscard]] const std::vector<Step>& forward_steps() const;
  [[nodiscard]] const std::vector<Step>& backward_steps() const;
  /// What the program allocated: activations, gradients, parameters, states and scratch.
  [[nodiscard]] Bytes memory() const;

  /// He-normal weights, zero biases, BN scale 1 and shift 0; equal for equal seeds whatever the
  /// device and layouts.
  void initialise(std::uint64_t seed);
  /// Brings a decoded batch into the input tensor: the host-to-device copy, and of bytes
  /// ComputeDevice::normalise. It must stay as it is until the device has it (ComputeDevice::copy
  /// says how long, of bytes copy_ahead). Waits for what still reads the labels before. Throws
  /// ConfigError if a label is no class of the network, Unsupported for bytes on a device that
  /// computes in host memory.
  void set_input(const Images& images, std::span<const std::int32_t> labels);
  /// The same in two parts, best for batches in allocate_on_host() memory: stage_input()
  /// copies ahead beside what the device computes, use_staged_input() makes it the input of what
  /// follows. The labels, too, count from then on.
  void stage_input(const Images& images, std::span<const std::int32_t> labels);
  void use_staged_input();
  /// Runs one step. `iteration` seeds dropout. Call steps in order. Returns when done or enqueued.
  void run(Step step, std::uint64_t iteration);
  /// For steps that are recorded: from the first call on dropout reads its seeds in memory of the
  /// device, where each call puts those of `iteration` for what is given to the device after it.
  /// Then what was recorded drops what run() of that iteration would.
  void send_seeds(std::uint64_t iteration);
  /// Waits until all that was run is done.
  void synchronize();
  [[nodiscard]] backend::ComputeDevice& device() const;
  /// Σ loss_weight · mean loss, after forward.
  [[nodiscard]] double loss() const;

  /// The gradient elements of a layer or bucket, padding of the layouts included; memory of the
  /// device.
  [[nodiscard]] std::span<float> gradients(const Bucket& bucket);
  [[nodiscard]] std::span<float> all_gradients();
  void update(const backend::SgdStep& step);
  /// Only of the layers of a bucket.
  void update(const backend::SgdStep& step, const Bucket& bucket);
  /// The f32 master values, in memory of the device; after writing to them call
  /// parameters_changed().
  [[nodiscard]] std::span<float> all_parameters();
  /// Hands changed master values to the operations. Clears gradients and momenta.
  void parameters_changed();
  /// The same of a bucket alone: its master values, and what to call after writing to them.
  [[nodiscard]] std::span<float> parameters(const Bucket& bucket);
  void parameters_changed(const Bucket& bucket);
  /// Names the layout of every parameter. Gradients of two ranks may be added only if it is equal.
  [[nodiscard]] std::string parameter_layout() const;
  /// Parameter gradients or values of a layer in plain OIHW order, weights then bias (batch norm:
  /// scale then shift).
  [[nodiscard]] std::vector<float> plain_gradient(LayerId layer) const;
  [[nodiscard]] std::vector<float> plain_parameters(LayerId layer) const;
  void set_plain_parameters(LayerId layer, std::span<const float> values);

  /// For benchmarks that run a step on memory of their own, or without the engine around it.
  [[nodiscard]] backend::Operation& operation(LayerId layer);
  [[nodiscard]] const backend::Operation& operation(LayerId layer) const;
  [[nodiscard]] const backend::Operands& operands(Step step) const;
  [[nodiscard]] backend::OperationSpec spec(LayerId layer) const;  ///< layouts as in this network

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlscale::train
