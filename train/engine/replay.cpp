#include "train/engine/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::train {

DropoutSeeds::DropoutSeeds(const Network& network, backend::ComputeDevice& device)
    : device_(&device) {
  for (const Layer& layer : network.layers()) {
    if (std::holds_alternative<Dropout>(layer.kind)) layers_.push_back(layer.id);
  }
  seeds_.resize(layers_.size());
  if (!layers_.empty()) memory_ = device.allocate(seeds_.size() * sizeof(std::uint64_t));
}

const std::uint64_t* DropoutSeeds::memory(std::size_t i) const {
  return reinterpret_cast<const std::uint64_t*>(memory_.get()) + i;
}

void DropoutSeeds::send(const std::function<std::uint64_t(LayerId)>& seed_of) {
  if (layers_.empty()) return;
  std::ranges::transform(layers_, seeds_.begin(), seed_of);
  // Seeds are copied as 32-bit words, which a copy between equal precisions leaves unchanged. A few
  // bytes of ordinary memory do not block: CUDA sends up to 64 KB along with the command. [CUDA C++
  // Programming Guide, "Concurrent execution between host and device"]
  const backend::TensorDesc words = device_->plain({2 * std::ssize(seeds_), 1, 1, 1}, DType::f32);
  device_->copy({words, reinterpret_cast<std::byte*>(seeds_.data())}, {words, memory_.get()});
}

Replay::Replay(backend::ComputeDevice& device, std::size_t stretches)
    : device_(&device), stretches_(stretches) {}

void Replay::run(std::size_t stretch, const std::function<void()>& work) {
  Stretch& known = stretches_[stretch];
  if (!std::exchange(known.ran, true)) return work();
  if (!known.recording) {
    try {
      known.recording = device_->record(work);
    } catch (const Unsupported& error) {
      throw Unsupported(fmt::format("{} Launch kernels eagerly.", error.what()));
    }
  }
  known.recording->play();
}

}  // namespace dlscale::train
