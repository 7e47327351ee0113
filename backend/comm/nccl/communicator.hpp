#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/comm/nccl/link.hpp"

namespace dlscale::backend::gpu_comm {

/// Moves GPU memory by NCCL and host memory over another communicator.
class NcclCommunicator : public Communicator {
 public:
  /// Collective.
  NcclCommunicator(std::unique_ptr<Communicator> host, int device);

  [[nodiscard]] Rank rank() const override { return host_->rank(); }
  [[nodiscard]] int size() const override { return host_->size(); }
  [[nodiscard]] int node_size() const override { return host_->node_size(); }
  [[nodiscard]] int node_rank() const override { return host_->node_rank(); }
  [[nodiscard]] std::string library() const override;
  [[nodiscard]] std::string host_library() const override { return host_->library(); }
  [[nodiscard]] bool takes_device_memory() const override { return true; }
  /// The choice is that of the link that executes the call; the estimate uses a link like it.
  [[nodiscard]] std::optional<CallFacts> facts_of(const CollectiveCall& call) override;

  /// For GPU memory, a send returns when the other rank receives. Messages between two ranks arrive
  /// in the order of sending, whatever their tags.
  void send(std::span<const std::byte> data, Rank to, int tag) override;
  void receive(std::span<std::byte> data, Rank from, int tag) override;
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in) override;
  [[nodiscard]] std::unique_ptr<PreparedExchange> prepare_exchange(std::span<const Outgoing> out,
                                                                   std::span<const Incoming> in,
                                                                   Mode mode) override;
  void all_reduce(std::span<float> data, Reduction op) override;
  void all_reduce(std::span<double> data, Reduction op) override;
  void broadcast(std::span<std::byte> data, Rank root) override;
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  [[nodiscard]] std::unique_ptr<PreparedCollective> prepare(const CollectiveCall& call,
                                                            Mode mode) override;
  void barrier() override { host_->barrier(); }
  void barrier(WaitPolicy waiting) override { host_->barrier(waiting); }
  /// Collective. Concurrent messages on both links are safe as long as the GPU can run both: NCCL's
  /// kernels wait on the GPU for those of the other ranks. So while one thread waits for a message,
  /// no other thread of the rank may call a function that waits for the whole GPU (cudaMalloc,
  /// cudaFree, cudaDeviceSynchronize). The exception is a call that all ranks reach independently
  /// of each other. Otherwise, if the peer's sending thread first waits for this one, both
  /// deadlock. Allocate before training, not within an iteration. For the same reason several ranks
  /// refuse CUDA_DEVICE_MAX_CONNECTIONS=1, which may put the streams of both links into one queue.
  [[nodiscard]] std::unique_ptr<Communicator> duplicate() override;

  [[nodiscard]] int gpu() const override { return link_.end().device; }

 private:
  void expect_host(const void* data, std::size_t bytes) const;
  void expect_host(std::span<const Outgoing> out, std::span<const Incoming> in) const;
  void enqueue_send(std::span<const std::byte> data, Rank to);
  void enqueue_receive(std::span<std::byte> data, Rank from);

  std::unique_ptr<Communicator> host_;
  Link link_;
};

}  // namespace dlscale::backend::gpu_comm
