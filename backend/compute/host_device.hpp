#pragma once
#include "backend/compute/compute.hpp"

namespace dlscale::backend {

/// Base of devices that compute in host memory. Work is done when the call returns, or at the
/// latest when synchronize() does.
class HostDevice : public ComputeDevice {
 public:
  [[nodiscard]] std::optional<OwnMemory> own_memory() const override { return std::nullopt; }
  [[nodiscard]] Buffer allocate(std::size_t bytes) override;
  [[nodiscard]] Buffer allocate_on_host(std::size_t bytes) override;
  void clear(std::byte* data, std::size_t bytes) override;
  /// Writes from one thread: with several compute threads the private caches of the others stay
  /// cold.
  void touch(std::byte* data, std::size_t bytes) override;
  void copy_ahead(const std::byte* from, std::byte* to, std::size_t bytes) override;
  void join_copies() override {}
  [[nodiscard]] std::unique_ptr<Recording> record(std::function<void()> work) override;
  void synchronize() override {}
  [[nodiscard]] std::unique_ptr<Mark> mark() override;
  [[nodiscard]] Timed time(const std::function<void()>& work) override;
  [[nodiscard]] std::unique_ptr<CopyStream> copy_stream() override;
};

}  // namespace dlscale::backend
