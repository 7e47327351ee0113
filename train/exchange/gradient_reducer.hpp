#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "train/exchange/arrivals.hpp"
#include "train/exchange/host_copies.hpp"

namespace dlscale::train {

/// The interface between trainer and communicator: adds up the gradients of a message over all
/// ranks. An exchange or the training thread calls it message by message; all calls are collective.
class GradientReducer {
 public:
  virtual ~GradientReducer() = default;
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  /// Reduces a message in place by collectives, one after the other, and returns them.
  virtual std::vector<Transfer> reduce(backend::Communicator& communicator, std::size_t message,
                                       std::span<float> gradients) = 0;
  /// Whether a message is complete only after finish().
  [[nodiscard]] virtual bool has_second_phase() const { return false; }
  /// Completes a reduced message. Call it once all messages are reduced, last message first.
  virtual std::vector<Transfer> finish(backend::Communicator& /*communicator*/,
                                       std::size_t /*message*/, std::span<float> /*gradients*/) {
    return {};
  }

 protected:
  GradientReducer() = default;
};

/// All-reduces each message through `staging`.
class AllReduceReducer : public GradientReducer {
 public:
  explicit AllReduceReducer(Staging staging) : staging_(std::move(staging)) {}
  std::vector<Transfer> reduce(backend::Communicator& communicator, std::size_t message,
                               std::span<float> gradients) override;

 private:
  Staging staging_;
};

/// Reduces each message by a reduce-scatter, which leaves every rank the sum of one equal block. An
/// all-gather of the blocks follows after all reduce-scatters, as in DeAR. The remainder that does
/// not fill equal blocks is all-reduced after the reduce-scatter, as a transfer of its own.
class ShardedReducer : public GradientReducer {
 public:
  /// Allocates the blocks now, as an iteration must not wait for the device.
  ShardedReducer(CollectiveMemory gradients, std::size_t messages, int ranks);
  std::vector<Transfer> reduce(backend::Communicator& communicator, std::size_t message,
                               std::span<float> gradients) override;
  [[nodiscard]] bool has_second_phase() const override { return true; }
  std::vector<Transfer> finish(backend::Communicator& communicator, std::size_t message,
                               std::span<float> gradients) override;

 private:
  /// This rank's reduced block of each message, one after the other in one buffer.
  [[nodiscard]] std::span<float> block_of(std::size_t message, std::size_t elements);

  CollectiveMemory memory_;
  std::size_t ranks_;
  std::size_t room_;  ///< elements of all blocks
  backend::Buffer buffer_;
  std::vector<std::optional<std::span<float>>> blocks_;  ///< by message
  std::size_t used_ = 0;
};

/// Reduces message i to rank owners[i]. The contents on other ranks are undefined afterwards.
class ParameterServerReducer : public GradientReducer {
 public:
  ParameterServerReducer(CollectiveMemory gradients, std::vector<Rank> owners)
      : memory_(std::move(gradients)), owners_(std::move(owners)) {}
  std::vector<Transfer> reduce(backend::Communicator& communicator, std::size_t message,
                               std::span<float> gradients) override;

 private:
  CollectiveMemory memory_;
  std::vector<Rank> owners_;
};

/// Broadcasts parameters from the owner of a message, through `staging`.
Transfer broadcast_parameters(backend::Communicator& communicator, Staging& staging,
                              std::size_t message, std::span<float> values, Rank owner);

}  // namespace dlscale::train
