#include "train/exchange/staging.hpp"

namespace dlscale::train {

Staging::Staging(backend::ComputeDevice& device, const backend::Communicator& communicator,
                 std::size_t largest) {
  if (!device.own_memory() || communicator.takes_device_memory()) return;
  courier_ = device.courier();
  host_ = device.allocate_on_host(largest * sizeof(float));
}

void Staging::with(std::span<float> elements, const std::function<void(std::span<float>)>& work) {
  if (!courier_) {
    work(elements);
    return;
  }
  auto* there = reinterpret_cast<std::byte*>(elements.data());
  courier_->carry(there, host_.get(), elements.size_bytes());
  work({reinterpret_cast<float*>(host_.get()), elements.size()});
  courier_->carry(host_.get(), there, elements.size_bytes());
}

}  // namespace dlscale::train
