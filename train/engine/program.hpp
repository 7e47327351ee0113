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
/// activations, gradients and parameters, and runnable steps (core/network/step.hpp). Parameters,
/// gradients and momenta each form one f32 array, in the order in which backward finishes the
/// layers, so that a bucket is one contiguous span.
class Program {
 public:
  /// `device` must outlive the program. Throws Unsupported naming the layer. Throws ConfigError
  /// before it allocates anything if the program needs more memory than `available`, or than is
  /// free on a device with its own memory. If the shapes alone exceed it, it throws before the
  /// device tries plans.
  Program(const Network& network, backend::ComputeDevice& device, int batch, DType dtype,
          std::optional<Bytes> available = std::nullopt);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const Network& network() const;
  [[nodiscard]] int batch() const;
  [[nodiscard]] const std::vector<Step>& forward_steps() const;
  [[nodiscard]] const std::vector<Step>& backward_steps() const;
  /// Bytes that the program allocated: activations, gradients, parameters, states and scratch.
  [[nodiscard]] Bytes memory() const;

  /// He-normal weights, zero biases, BN scale 1 and shift 0; equal for equal seeds whatever the
  /// device and layouts.
  void initialise(std::uint64_t seed);
  /// Copies a decoded batch into the input tensor: the host-to-device copy, then
  /// ComputeDevice::normalise for bytes. The batch must stay unchanged until the device has it (see
  /// ComputeDevice::copy, and copy_ahead for bytes). Waits for pending reads of the previous
  /// labels. Throws ConfigError if a label is not a class of the network, and Unsupported for bytes
  /// on a device that computes in host memory.
  void set_input(const Images& images, std::span<const std::int32_t> labels);
  /// set_input() in two parts, best for batches in allocate_on_host() memory. stage_input() copies
  /// ahead while the device computes; use_staged_input() makes the copy, with its labels, the input
  /// of the following steps.
  void stage_input(const Images& images, std::span<const std::int32_t> labels);
  void use_staged_input();
  /// Runs one step; call steps in order. `iteration` seeds dropout. Returns when the step is done
  /// or enqueued.
  void run(Step step, std::uint64_t iteration);
  /// Sends the dropout seeds of `iteration` to the device, for recorded steps. From the first call
  /// on, dropout reads its seeds in device memory; work enqueued after a call uses the new seeds.
  /// Replayed steps then drop the same elements as run() of that iteration.
  void send_seeds(std::uint64_t iteration);
  /// Waits until all enqueued steps are done.
  void synchronize();
  [[nodiscard]] backend::ComputeDevice& device() const;
  /// Sum of loss_weight · mean loss over all losses, after forward.
  [[nodiscard]] double loss() const;

  /// The gradients of a layer or bucket in device memory, padding of the layouts included.
  [[nodiscard]] std::span<float> gradients(const Bucket& bucket);
  [[nodiscard]] std::span<float> all_gradients();
  void update(const backend::SgdStep& step);
  /// Updates only the layers of a bucket.
  void update(const backend::SgdStep& step, const Bucket& bucket);
  /// The f32 master values in device memory. Call parameters_changed() after writing to them.
  [[nodiscard]] std::span<float> all_parameters();
  /// Refreshes the operations' copies after a change of master values. Clears gradients and
  /// momenta.
  void parameters_changed();
  /// The master values of one bucket, and the call to make after writing to them.
  [[nodiscard]] std::span<float> parameters(const Bucket& bucket);
  void parameters_changed(const Bucket& bucket);
  /// Names the layout of every parameter. Two ranks may add gradients only if it is equal.
  [[nodiscard]] std::string parameter_layout() const;
  /// Parameter gradients or values of a layer in plain OIHW order, weights then bias (for batch
  /// norm: scale then shift).
  [[nodiscard]] std::vector<float> plain_gradient(LayerId layer) const;
  [[nodiscard]] std::vector<float> plain_parameters(LayerId layer) const;
  void set_plain_parameters(LayerId layer, std::span<const float> values);

  /// Parts for benchmarks that run a step on their own memory or without the engine.
  [[nodiscard]] backend::Operation& operation(LayerId layer);
  [[nodiscard]] const backend::Operation& operation(LayerId layer) const;
  [[nodiscard]] const backend::Operands& operands(Step step) const;
  [[nodiscard]] backend::OperationSpec spec(LayerId layer) const;  ///< layouts as in this network

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlscale::train
