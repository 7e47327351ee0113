#include "train/exchange/host_mirror.hpp"

namespace dlscale::train {

HostMirror::HostMirror(backend::ComputeDevice& device, std::span<float> all) : all_(all.data()) {
  if (!device.own_memory()) return;
  courier_ = device.courier();
  copy_ = device.allocate_on_host(all.size_bytes());
}

std::span<float> HostMirror::on_host(std::span<float> piece) const {
  if (!courier_) return piece;
  return {reinterpret_cast<float*>(copy_.get()) + (piece.data() - all_), piece.size()};
}

std::span<float> HostMirror::fetch(std::span<float> piece) {
  const std::span<float> host = on_host(piece);
  if (courier_) {
    courier_->carry(reinterpret_cast<const std::byte*>(piece.data()),
                    reinterpret_cast<std::byte*>(host.data()), host.size_bytes());
  }
  return host;
}

void HostMirror::store(std::span<float> piece) {
  if (!courier_) return;
  const std::span<float> host = on_host(piece);
  courier_->carry(reinterpret_cast<const std::byte*>(host.data()),
                  reinterpret_cast<std::byte*>(piece.data()), host.size_bytes());
}

}  // namespace dlscale::train
