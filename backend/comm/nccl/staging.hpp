#pragma once
#include <cstddef>
#include <memory>
#include <span>

#include "backend/comm/nccl/link.hpp"

namespace dlscale::backend::gpu_comm {

/// Equally large blocks on the GPU and in pinned host memory, through which host data goes to and
/// from NCCL. Copies are enqueued on the link's stream.
class Staging {
 public:
  /// Bytes of a block: enough that copies run at full speed.
  static constexpr std::size_t capacity = std::size_t{4} << 20U;

  explicit Staging(Link& link);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// Zeros at first.
  [[nodiscard]] std::byte* device() const { return device_.get(); }
  /// Copies `data` to `offset` of the block on the GPU. Only once between two waits for any part of
  /// the block.
  void put(std::span<const std::byte> data, std::size_t offset = 0);
  /// Enqueues the copy back of `bytes` at `offset`, waits for all that was enqueued, and returns
  /// them in host memory; valid until the next call.
  std::span<const std::byte> take(std::size_t bytes, std::size_t offset = 0);

 private:
  struct FreeDevice {
    void operator()(std::byte* memory) const noexcept;
  };
  struct FreeHost {
    void operator()(std::byte* memory) const noexcept;
  };

  Link& link_;
  std::unique_ptr<std::byte[], FreeDevice> device_;
  std::unique_ptr<std::byte[], FreeHost> host_;
};

}  // namespace dlscale::backend::gpu_comm
