#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "train/exchange/arrivals.hpp"
#include "train/exchange/host_copies.hpp"

namespace dlscale::train {

/// Adds up a bucket over all ranks, in place. The transfer includes copies through `staging`.
Transfer all_reduce_bucket(backend::Communicator& communicator, Staging& staging,
                           std::size_t bucket, std::span<float> gradients);

/// Reduces the gradients of an iteration while the training thread computes. One thread posts and
/// waits.
class Exchange {
 public:
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  /// Posts a message that is complete when the device has passed `ready`; never waits. Messages of
  /// an iteration come in order, 0 first, on all ranks alike. The memory belongs to the exchange
  /// until await() or finish() returns.
  virtual void post(std::size_t message, std::span<float> gradients,
                    std::shared_ptr<const backend::Mark> ready) = 0;
  /// Marks all messages of the iteration as posted; never waits.
  virtual void close() {}
  /// Waits until a message has arrived, if it was posted. Rethrows failures of the exchange, as
  /// take() and finish() do.
  void await(std::size_t message) { arrivals_.await(message); }
  /// Takes the transfers that ended since the last call, in order.
  std::vector<Transfer> take() { return arrivals_.take(); }
  /// Waits for everything posted (and closed), then takes the transfers.
  std::vector<Transfer> finish() { return arrivals_.finish(); }

 protected:
  Exchange() = default;
  Arrivals& arrivals() { return arrivals_; }

 private:
  Arrivals arrivals_;
};

/// Reduces a message by collectives, one after the other, and returns them.
using Carry = std::function<std::vector<Transfer>(backend::Communicator&, std::size_t message,
                                                  std::span<float> gradients)>;

/// How each message is reduced: `first` runs once it is ready. `second`, if set, runs after the
/// first step of all messages, last message first.
struct Carriage {
  Carry first;
  Carry second = {};
};

/// All-reduces through `staging`.
Carriage by_all_reduce(Staging staging);

/// A thread that reduces messages one by one in the order of posting, which must be the same on all
/// ranks. Before each message it waits for the last rank as `waiting` says.
class GradientExchange : public Exchange {
 public:
  GradientExchange(std::unique_ptr<backend::Communicator> communicator, Carriage carriage,
                   backend::Waiting waiting);
  /// Reduces by all-reduce.
  GradientExchange(std::unique_ptr<backend::Communicator> communicator, Staging staging,
                   backend::Waiting waiting);
  /// Finishes the transfer in flight, if any, and drops those still waiting.
  ~GradientExchange() override;

  void post(std::size_t message, std::span<float> gradients,
            std::shared_ptr<const backend::Mark> ready) override;
  void close() override;

 private:
  struct Message {
    std::size_t number = 0;
    std::span<float> gradients;
    std::shared_ptr<const backend::Mark> ready;
    Instant posted;
    enum class Trip { only, out, back } trip = Trip::only;
  };

  void run(const std::stop_token& stop);
  void transfer(const Message& message);

  std::unique_ptr<backend::Communicator> communicator_;
  Carriage carriage_;
  backend::Waiting waiting_;
  std::mutex mutex_;
  std::condition_variable_any posted_;
  std::deque<Message> queue_;
  /// Messages of the open iteration that await their second step.
  std::vector<Message> to_come_back_;
  std::jthread thread_;  ///< last: it stops before the members it uses are destroyed
};

}  // namespace dlscale::train
