#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "backend/compute/device_probes.hpp"

namespace dlscale::backend::cuda {

/// Host memory of one of the kinds from and to which a device copies. Its pages are resident.
class HostArea {
 public:
  /// Throws the errors of check(), and std::bad_alloc.
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
