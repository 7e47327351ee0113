#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/compute/compute.hpp"
#include "train/exchange/arrivals.hpp"
#include "train/exchange/gradient_reducer.hpp"

namespace dlscale::train {

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

/// A thread that reduces messages one by one in the order of posting, which must be the same on all
/// ranks. Before each message it waits for the last rank as `waiting` says.
class GradientExchange : public Exchange {
 public:
  GradientExchange(std::unique_ptr<backend::Communicator> communicator,
                   std::unique_ptr<GradientReducer> reducer, backend::WaitPolicy waiting);
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
    enum class Phase { reduce, finish } phase = Phase::reduce;
  };

  void run(const std::stop_token& stop);
  void transfer(const Message& message);

  std::unique_ptr<backend::Communicator> communicator_;
  std::unique_ptr<GradientReducer> reducer_;
  backend::WaitPolicy waiting_;
  std::mutex mutex_;
  std::condition_variable_any posted_;
  std::deque<Message> queue_;
  /// Messages of the open iteration that await their second phase.
  std::vector<Message> unfinished_;
  std::jthread thread_;  ///< last: it stops before the members it uses are destroyed
};

}  // namespace dlscale::train
