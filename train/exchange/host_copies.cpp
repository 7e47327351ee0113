#include "train/exchange/host_copies.hpp"

namespace dlscale::train {

Staging::Staging(backend::ComputeDevice& device, const backend::Communicator& communicator,
                 std::size_t largest) {
  if (!device.own_memory() || communicator.takes_device_memory()) return;
  copy_stream_ = device.copy_stream();
  host_ = device.allocate_on_host(largest * sizeof(float));
}

std::span<float> Staging::fetch(std::span<float> elements) {
  if (!copy_stream_) return elements;
  copy_stream_->copy(reinterpret_cast<const std::byte*>(elements.data()), host_.get(),
                     elements.size_bytes());
  return {reinterpret_cast<float*>(host_.get()), elements.size()};
}

void Staging::store(std::span<float> elements) {
  if (!copy_stream_) return;
  copy_stream_->copy(host_.get(), reinterpret_cast<std::byte*>(elements.data()),
                     elements.size_bytes());
}

HostMirror::HostMirror(backend::ComputeDevice& device, std::span<float> all) : all_(all.data()) {
  if (!device.own_memory()) return;
  copy_stream_ = device.copy_stream();
  copy_ = device.allocate_on_host(all.size_bytes());
}

std::span<float> HostMirror::on_host(std::span<float> piece) const {
  if (!copy_stream_) return piece;
  return {reinterpret_cast<float*>(copy_.get()) + (piece.data() - all_), piece.size()};
}

std::span<float> HostMirror::fetch(std::span<float> piece) {
  const std::span<float> host = on_host(piece);
  if (copy_stream_) {
    copy_stream_->copy(reinterpret_cast<const std::byte*>(piece.data()),
                       reinterpret_cast<std::byte*>(host.data()), host.size_bytes());
  }
  return host;
}

void HostMirror::store(std::span<float> piece) {
  if (!copy_stream_) return;
  const std::span<float> host = on_host(piece);
  copy_stream_->copy(reinterpret_cast<const std::byte*>(host.data()),
                     reinterpret_cast<std::byte*>(piece.data()), host.size_bytes());
}

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
