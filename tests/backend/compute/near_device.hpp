#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backend/compute/host_device.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {

/// Says that its memory is its own, but the host can touch it: a communicator of the host takes it
/// as one of GPUs takes theirs.
class NearDevice : public HostDevice {
 public:
  [[nodiscard]] std::string_view name() const override { return "near"; }
  [[nodiscard]] std::map<std::string, std::string> libraries() const override { return {}; }
  [[nodiscard]] std::optional<OwnMemory> own_memory() const override {
    return OwnMemory{Bytes(1e9), Bytes(free_), Bytes(1e3)};
  }
  [[nodiscard]] TensorDesc plain(std::array<std::int64_t, 4> /*dims*/,
                                 DType /*dtype*/) const override {
    throw Unsupported("no tensors");
  }
  [[nodiscard]] std::unique_ptr<Operation> create(const OperationSpec& /*spec*/) override {
    throw Unsupported("no operations");
  }
  void copy(const Tensor& /*from*/, const Tensor& /*to*/) override {}
  void accumulate(const Tensor& /*value*/, const Tensor& /*into*/) override {}
  void update(const SgdStep& /*step*/, std::size_t /*n*/, float* /*weights*/,
              const float* /*gradients*/, float* /*momentum*/, std::uint16_t* /*low*/) override {}
  void leave(double bytes) { free_ = bytes; }

 private:
  double free_ = 1e9;
};

}  // namespace dlscale::backend
