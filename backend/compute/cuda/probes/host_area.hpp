#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "backend/compute/device_probes.hpp"

namespace dlscale::backend::cuda {

/// Memory of the host of one of the kinds that a device copies from and to. Its pages are there.
class HostArea {
 public:
  /// Throws what check() throws, and std::bad_alloc.
  HostArea(HostMemory kind, std::size_t bytes);
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_.get(), bytes_}; }

 private:
  struct Release {
    HostMemory kind;
    void operator()(std::byte* data) const noexcept;
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte[], Release> data_;
};

}  // namespace dlscale::backend::cuda
