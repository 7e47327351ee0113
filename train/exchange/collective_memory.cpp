#include "train/exchange/collective_memory.hpp"

namespace dlscale::train {

using backend::DataPlace;

CollectiveMemory::CollectiveMemory(backend::ComputeDevice& device,
                                   const backend::Communicator& communicator, std::span<float> all)
    : device_(&device),
      all_(all),
      place_(device.own_memory() && communicator.takes_device_memory() ? DataPlace::device
                                                                       : DataPlace::host) {
  if (device.own_memory() && place_ == DataPlace::host) mirror_.emplace(device, all);
}

DataPlace CollectiveMemory::place() const {
  return place_;
}

std::span<float> CollectiveMemory::fetch(std::span<float> piece) {
  return mirror_ ? mirror_->fetch(piece) : piece;
}

void CollectiveMemory::store(std::span<float> piece) {
  if (mirror_) mirror_->store(piece);
}

std::span<float> CollectiveMemory::there(std::span<float> piece) const {
  return mirror_ ? mirror_->on_host(piece) : piece;
}

backend::Buffer CollectiveMemory::allocate(std::size_t bytes) const {
  return place_ == DataPlace::device ? device_->allocate(bytes) : device_->allocate_on_host(bytes);
}

}  // namespace dlscale::train
